package main

import (
	"context"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

// validate does what the API server does with an object on create: its schema, its embedded
// resources, its lists.
func validate(input any, structural *schema.Structural, asked question) answer {
	object, ok := input.(map[string]any)
	if !ok {
		return answer{"failure": "the input is no object"}
	}
	external := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(asked.Schema, external); err != nil {
		return answer{"failure": err.Error()}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, internal, nil); err != nil {
		return answer{"failure": err.Error()}
	}
	validator, _, err := apiservervalidation.NewSchemaValidator(internal)
	if err != nil {
		return answer{"failure": err.Error()}
	}
	found := apiservervalidation.ValidateCustomResource(nil, object, validator)
	found = append(found, objectmeta.Validate(context.Background(), nil, object, structural, false)...)
	found = append(found, listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	return texts(found)
}
