package main

import (
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// checkDefinition validates a definition as the API server does on create or, with an old one,
// on update.
func checkDefinition(asked question) answer {
	created, err := definition(asked.Input)
	if err != nil {
		return answer{"error": err.Error()}
	}
	if len(asked.Options.Old) == 0 || string(asked.Options.Old) == "null" {
		return texts(validation.ValidateCustomResourceDefinition(context.Background(), created))
	}
	old, err := definition(asked.Options.Old)
	if err != nil {
		return answer{"error": err.Error()}
	}
	// What the server sees to itself before it validates.
	created.ResourceVersion, old.ResourceVersion = "1", "1"
	created.Status = *old.Status.DeepCopy()
	for _, version := range created.Spec.Versions {
		if version.Storage {
			if !apiextensions.IsStoredVersion(created, version.Name) {
				created.Status.StoredVersions = append(created.Status.StoredVersions, version.Name)
			}
			break
		}
	}
	kept := field.ErrorList{}
	for _, found := range validation.ValidateCustomResourceDefinitionUpdate(context.Background(), created, old) {
		if !strings.HasSuffix(found.Error(), "must not be decremented") {
			kept = append(kept, found)
		}
	}
	return texts(kept)
}

func definition(raw json.RawMessage) (*apiextensions.CustomResourceDefinition, error) {
	kind := metav1.TypeMeta{}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	if kind.APIVersion == apiextensionsv1beta1.SchemeGroupVersion.String() {
		return betaDefinition(raw)
	}
	external := &apiextensionsv1.CustomResourceDefinition{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, external); err != nil {
		return nil, err
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(external)
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(external, internal, nil)
	// The server takes it away from whatever has no namespace, before it validates.
	internal.Namespace = ""
	return internal, err
}

// betaDefinition reads a definition of v1beta1, which no server has served since 1.22; its
// packages still convert it.
func betaDefinition(raw json.RawMessage) (*apiextensions.CustomResourceDefinition, error) {
	external := &apiextensionsv1beta1.CustomResourceDefinition{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, external); err != nil {
		return nil, err
	}
	apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(external)
	internal := &apiextensions.CustomResourceDefinition{}
	err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(external, internal, nil)
	internal.Namespace = ""
	return internal, err
}

// checkDefaults does what the API server does with the defaults of a structural schema.
func checkDefaults(structural *schema.Structural, path string) answer {
	if structural == nil || len(schema.ValidateStructural(nil, structural)) > 0 {
		return answer{"errors": []string{}}
	}
	found, err := defaulting.ValidateDefaults(context.Background(), field.NewPath(path), structural, true, true)
	if err != nil {
		return answer{"error": err.Error()}
	}
	return texts(found)
}

// judge validates a default as the API server does once everything else about it is in order.
func judge(value any, structural *schema.Structural) answer {
	validator := apiservervalidation.NewSchemaValidatorFromOpenAPI(structural.ToKubeOpenAPI())
	return texts(apiservervalidation.ValidateCustomResource(field.NewPath("$"), value, validator))
}

func texts(found field.ErrorList) answer {
	listed := []string{}
	for _, one := range found {
		listed = append(listed, one.Error())
	}
	return answer{"errors": listed}
}

// render writes a schema as the API server publishes it.
func render(structural *schema.Structural) answer {
	if structural == nil {
		return answer{"schema": nil}
	}
	encoded, err := json.Marshal(structural.ToKubeOpenAPI())
	if err != nil {
		return answer{"failure": err.Error()}
	}
	var decoded any
	if err := utiljson.Unmarshal(encoded, &decoded); err != nil {
		return answer{"failure": err.Error()}
	}
	rename(decoded)
	return answer{"schema": decoded}
}

// rename gives the members of rules their external names: the server's export writes the
// internal type.
func rename(value any) {
	switch typed := value.(type) {
	case map[string]any:
		if rules, ok := typed["x-kubernetes-validations"].([]any); ok {
			for i, rule := range rules {
				rules[i] = renamed(rule)
			}
		}
		for _, member := range typed {
			rename(member)
		}
	case []any:
		for _, item := range typed {
			rename(item)
		}
	}
}

func renamed(rule any) any {
	members, ok := rule.(map[string]any)
	if !ok {
		return rule
	}
	kept := map[string]any{}
	for name, value := range members {
		if value != nil && value != "" {
			kept[strings.ToLower(name[:1])+name[1:]] = value
		}
	}
	return kept
}
