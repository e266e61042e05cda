package main

import (
	"math"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// compiler compiles the rules of a schema as the API server does when a definition is created,
// one schema node after the other.
type compiler struct {
	environment *environment.EnvSet
	loader      cel.EnvLoader
	compiled    []answer
}

// compileRules tells of each rule, in the order of the schema's paths, whether it compiles, what
// it may cost at most, and how often it may be run.
func compileRules(internal *apiextensions.JSONSchemaProps, asked question) answer {
	if internal == nil {
		return answer{"rules": []answer{}}
	}
	made := compiler{
		environment: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()),
		loader:      cel.NewExpressionsEnvLoader(),
		compiled:    []answer{},
	}
	if asked.Options.Stored {
		made.loader = cel.StoredExpressionsEnvLoader()
	}
	root := validation.RootCELContext(internal)
	var at *field.Path
	if asked.Options.Path != "" {
		at = field.NewPath(asked.Options.Path)
	}
	made.walk(internal, root, at)
	return answer{"rules": made.compiled, "totalCost": root.TotalCost.Total}
}

func (c *compiler) walk(node *apiextensions.JSONSchemaProps, context *validation.CELSchemaContext, at *field.Path) {
	if node == nil {
		return
	}
	c.compile(node, context, at)
	if node.Items != nil && node.Items.Schema != nil {
		c.walk(node.Items.Schema, context.ChildItemsContext(node.Items.Schema), at.Child("items"))
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		inner := node.AdditionalProperties.Schema
		c.walk(inner, context.ChildAdditionalPropertiesContext(inner), at.Child("additionalProperties"))
	}
	names := make([]string, 0, len(node.Properties))
	for name := range node.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		inner := node.Properties[name]
		c.walk(&inner, context.ChildPropertyContext(&inner, name), at.Child("properties").Key(name))
	}
}

func (c *compiler) compile(node *apiextensions.JSONSchemaProps, context *validation.CELSchemaContext, at *field.Path) {
	if len(node.XValidations) == 0 {
		return
	}
	path := at.Child("x-kubernetes-validations")
	typeInfo, err := context.TypeInfo()
	if err == nil && typeInfo != nil {
		var results []cel.CompilationResult
		results, err = cel.Compile(typeInfo.Schema, typeInfo.DeclType, celconfig.PerCallLimit, c.environment, c.loader)
		for i, result := range results {
			told := toldOf(result, context.MaxCardinality)
			told["path"] = path.Index(i).String()
			cost, _ := told["expressionCost"].(uint64)
			context.TotalCost.ObserveExpressionCost(path, cost)
			if result.MessageExpression != nil {
				context.TotalCost.ObserveExpressionCost(path, result.MessageExpressionMaxCost)
			}
			c.compiled = append(c.compiled, told)
		}
	}
	if err != nil {
		c.compiled = append(c.compiled, answer{"path": path.String(), "error": err.Error()})
	}
}

func toldOf(result cel.CompilationResult, cardinality *uint64) answer {
	told := answer{
		"usesOldSelf":    result.UsesOldSelf,
		"maxCost":        result.MaxCost,
		"maxCardinality": result.MaxCardinality,
		"expressionCost": multiplied(result.MaxCost, result.MaxCardinality),
	}
	if cardinality != nil {
		told["expressionCost"] = multiplied(result.MaxCost, *cardinality)
	}
	if result.Error != nil {
		told["error"] = result.Error.Detail
	}
	if result.MessageExpressionError != nil {
		told["messageExpressionError"] = result.MessageExpressionError.Detail
	}
	if result.MessageExpression != nil {
		told["messageExpressionMaxCost"] = result.MessageExpressionMaxCost
	}
	if result.NormalizedRuleFieldPath != "" {
		told["fieldPath"] = result.NormalizedRuleFieldPath
	}
	return told
}

func multiplied(cost, count uint64) uint64 {
	if cost != 0 && math.MaxUint64/cost < count {
		return math.MaxUint64
	}
	return cost * count
}
