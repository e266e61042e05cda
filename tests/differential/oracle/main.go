// Oracle answers, a JSON line for a JSON line, what the API server's own packages
// make of a schema and an object. Espalier is compared with it.
//
// README.md beside this file says what can be asked, and how.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	longestLine = 64 << 20
	writeBuffer = 1 << 20
)

type question struct {
	Op      string            `json:"op"`
	Schema  json.RawMessage   `json:"schema"`
	Input   json.RawMessage   `json:"input"`
	Inputs  []json.RawMessage `json:"inputs"`
	Options struct {
		Path                  string            `json:"path"`
		Old                   json.RawMessage   `json:"old"`
		Olds                  []json.RawMessage `json:"olds"`
		ResourceRoot          *bool             `json:"resourceRoot"`
		Metadata              string            `json:"metadata"`
		PreserveUnknownFields bool              `json:"preserveUnknownFields"`
		CEL                   bool              `json:"cel"`
		WithoutRatcheting     bool              `json:"withoutRatcheting"`
		Stored                bool              `json:"stored"`
		Expressions           []string          `json:"expressions"`
		Layout                string            `json:"layout"`
		Format                string            `json:"format"`
	} `json:"options"`
}

// answer has the members of a vector's "expected".
type answer map[string]any

func main() {
	lines := bufio.NewReaderSize(os.Stdin, longestLine)
	out := bufio.NewWriterSize(os.Stdout, writeBuffer)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			reply(out, line)
		}
		if err != nil {
			out.Flush()
			return
		}
		// Whoever asks many questions at once gets the answers at once.
		if lines.Buffered() == 0 {
			out.Flush()
		}
	}
}

func reply(out *bufio.Writer, line []byte) {
	encoded, err := json.Marshal(answerTo(line))
	if err != nil {
		encoded, _ = json.Marshal(answer{"failure": err.Error()})
	}
	out.Write(append(encoded, '\n'))
}

// answerTo answers a question, or one question for each of several inputs.
func answerTo(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{"failure": err.Error()}
	}
	if asked.Inputs == nil {
		return guarded(asked)
	}
	answers := []answer{}
	for i, input := range asked.Inputs {
		asked.Input = input
		if i < len(asked.Options.Olds) {
			asked.Options.Old = asked.Options.Olds[i]
		}
		answers = append(answers, guarded(asked))
	}
	return answer{"answers": answers}
}

func guarded(asked question) (result answer) {
	defer func() {
		if failure := recover(); failure != nil {
			result = answer{"failure": fmt.Sprint(failure)}
		}
	}()
	if asked.Op == "crd-check" {
		return checkDefinition(asked)
	}
	if result := read(asked); result != nil {
		return result
	}
	internal, structural, err := parse(asked.Schema)
	if err != nil {
		return answer{"parse_error": err.Error()}
	}
	if result := ofSchema(internal, structural, asked); result != nil {
		return result
	}
	return ofValue(internal, structural, asked)
}

// ofSchema answers what needs no value, and nothing if it is asked for something else.
func ofSchema(internal *apiextensions.JSONSchemaProps, structural *schema.Structural, asked question) answer {
	switch asked.Op {
	case "structural":
		return check(structural, asked.Options.Path)
	case "defaults-check":
		return checkDefaults(structural, asked.Options.Path)
	case "unfold":
		return render(structural.DeepCopy().Unfold())
	case "strip":
		return render(structural.StripValueValidations())
	case "publish-v2":
		return render(openapiv2.ToStructuralOpenAPIV2(structural))
	case "cel-compile":
		return compileRules(internal, asked)
	}
	return nil
}

func ofValue(internal *apiextensions.JSONSchemaProps, structural *schema.Structural, asked question) answer {
	input, err := decoded(asked.Input)
	if err != nil {
		return answer{"failure": err.Error()}
	}
	old, err := decoded(asked.Options.Old)
	if err != nil {
		return answer{"failure": err.Error()}
	}
	switch asked.Op {
	case "prune":
		root := asked.Options.ResourceRoot == nil || *asked.Options.ResourceRoot
		unknown := pruning.PruneWithOptions(input, structural, root,
			schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if unknown == nil {
			unknown = []string{}
		}
		return answer{"object": input, "unknown": unknown}
	case "nulls":
		defaulting.PruneNonNullableNullsWithoutDefaults(input, structural)
		return answer{"object": input}
	case "default":
		defaulting.Default(input, structural)
		return answer{"object": input}
	case "normalize":
		return normalize(input, structural, asked)
	case "judge":
		return judge(input, structural)
	case "validate":
		return validate(input, old, internal, structural, asked)
	case "cel-eval":
		return evaluate(input, old, structural, asked)
	}
	return answer{"failure": "unknown op " + asked.Op}
}

func decoded(raw json.RawMessage) (value any, err error) {
	if len(raw) > 0 {
		err = utiljson.Unmarshal(raw, &value)
	}
	return value, err
}

func parse(raw json.RawMessage) (*apiextensions.JSONSchemaProps, *schema.Structural, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil, nil
	}
	external := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(raw, external); err != nil {
		return nil, nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, internal, nil); err != nil {
		return nil, nil, err
	}
	structural, err := schema.NewStructural(internal)
	return internal, structural, err
}

func check(structural *schema.Structural, path string) answer {
	texts := []string{}
	if structural != nil {
		var at *field.Path
		if path != "" {
			at = field.NewPath(path)
		}
		for _, found := range schema.ValidateStructural(at, structural) {
			texts = append(texts, found.Error())
		}
	}
	return answer{"errors": texts}
}

// normalize does what the API server's decoder does with an object of its kind.
func normalize(input any, structural *schema.Structural, asked question) answer {
	object, ok := input.(map[string]any)
	if !ok {
		return answer{"failure": "the input is no object"}
	}
	if structural != nil && !asked.Options.PreserveUnknownFields {
		structural = structural.DeepCopy()
		if err := defaulting.PruneDefaults(structural); err != nil {
			return answer{"error": err.Error()}
		}
	}
	if err := coerce(object, structural, asked.Options.Metadata == "drop", asked.Options.PreserveUnknownFields); err != nil {
		return answer{"error": err.Error()}
	}
	defaulting.Default(object, structural)
	return answer{"object": object}
}

func coerce(object map[string]any, structural *schema.Structural, drop, preserve bool) error {
	u := &unstructured.Unstructured{Object: object}
	kind, hasKind, err := unstructured.NestedString(object, "kind")
	if err != nil {
		return err
	}
	apiVersion, hasAPIVersion, err := unstructured.NestedString(object, "apiVersion")
	if err != nil {
		return err
	}
	meta, hasMeta, _, err := objectmeta.GetObjectMetaWithOptions(object,
		objectmeta.ObjectMetaOptions{DropMalformedFields: drop})
	if err != nil {
		return err
	}
	if _, err := runtimeschema.ParseGroupVersion(apiVersion); err != nil {
		return err
	}
	if !preserve {
		pruning.Prune(object, structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	}
	if err, _ := objectmeta.CoerceWithOptions(nil, object, structural, false,
		objectmeta.CoerceOptions{DropInvalidFields: drop}); err != nil {
		return err
	}
	if hasKind {
		u.SetKind(kind)
	}
	if hasAPIVersion {
		u.SetAPIVersion(apiVersion)
	}
	if hasMeta {
		return objectmeta.SetObjectMeta(object, meta)
	}
	return nil
}
