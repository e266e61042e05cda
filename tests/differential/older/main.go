// Older answers, a JSON line for a JSON line, what the packages of an older API server make of a
// definition.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	_ "k8s.io/apiextensions-apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	kjson "sigs.k8s.io/json"
)

const longestLine = 64 << 20

type question struct {
	Input  json.RawMessage   `json:"input"`
	Inputs []json.RawMessage `json:"inputs"`
}

type answer map[string]any

func main() {
	lines := bufio.NewReaderSize(os.Stdin, longestLine)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			encoded, failure := json.Marshal(answerTo(line))
			if failure != nil {
				encoded, _ = json.Marshal(answer{"failure": failure.Error()})
			}
			out.Write(append(encoded, '\n'))
		}
		if err != nil {
			out.Flush()
			return
		}
		if lines.Buffered() == 0 {
			out.Flush()
		}
	}
}

func answerTo(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{"failure": err.Error()}
	}
	if asked.Inputs == nil {
		return check(asked.Input)
	}
	answers := []answer{}
	for _, input := range asked.Inputs {
		answers = append(answers, check(input))
	}
	return answer{"answers": answers}
}

// check tells the errors of a new definition, the fields that the server does not know or drops,
// and what it makes of the first version's schema.
func check(raw json.RawMessage) (result answer) {
	defer func() {
		if failure := recover(); failure != nil {
			result = answer{"failure": fmt.Sprint(failure)}
		}
	}()
	external := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := kjson.UnmarshalStrict(raw, external)
	if err != nil {
		return answer{"error": err.Error()}
	}
	unknown := []string{}
	for _, one := range strict {
		unknown = append(unknown, one.Error())
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(external)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(external, internal, nil); err != nil {
		return answer{"error": err.Error()}
	}
	lost := dropped(internal)
	if len(lost) > 0 {
		drop(internal, lost)
	}
	texts := []string{}
	for _, found := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
		texts = append(texts, found.Error())
	}
	return answer{
		"errors":     texts,
		"unknown":    unknown,
		"dropped":    lost,
		"formats":    ignored(internal),
		"ratcheting": enabled("CRDValidationRatcheting"),
	}
}

// dropped tells which fields the server removes, since their feature is off by default.
func dropped(definition *apiextensions.CustomResourceDefinition) []string {
	written, _ := json.Marshal(definition)
	found := []string{}
	if bytes.Contains(written, []byte(`"OptionalOldSelf":true`)) && !enabled("CRDValidationRatcheting") {
		found = append(found, "optionalOldSelf")
	}
	if bytes.Contains(written, []byte(`"JSONPath":".selected"`)) && !enabled("CustomResourceFieldSelectors") {
		found = append(found, "selectableFields")
	}
	return found
}

// drop removes the fields as the server does before it validates.
func drop(definition *apiextensions.CustomResourceDefinition, lost []string) {
	for _, name := range lost {
		if name != "optionalOldSelf" || definition.Spec.Validation == nil {
			continue
		}
		validation.SchemaHas(definition.Spec.Validation.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) bool {
			for i := range s.XValidations {
				s.XValidations[i].OptionalOldSelf = nil
			}
			return false
		})
	}
}

// ignored tells which formats of the root's properties accept a value that no format accepts.
func ignored(definition *apiextensions.CustomResourceDefinition) []string {
	found := []string{}
	schema := definition.Spec.Validation
	if schema == nil || schema.OpenAPIV3Schema == nil {
		return found
	}
	for _, property := range schema.OpenAPIV3Schema.Properties {
		if property.Format == "" || property.Type != "string" {
			continue
		}
		validator, _, err := apiservervalidation.NewSchemaValidator(&property)
		if err != nil {
			continue
		}
		if len(apiservervalidation.ValidateCustomResource(nil, "\x00 !", validator)) == 0 {
			found = append(found, property.Format)
		}
	}
	return found
}

func enabled(name featuregate.Feature) (is bool) {
	defer func() { _ = recover() }()
	return utilfeature.DefaultFeatureGate.Enabled(name)
}
