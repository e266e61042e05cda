package main

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// update is a new object and, unless it is created, the one that it replaces.
type update struct {
	now, old   map[string]any
	correlated *common.CorrelatedObject
}

// validate does what the API server does with an object on create and on update: its schema, its
// embedded resources, its lists and, if asked for, its rules.
func validate(input, old any, internal *apiextensions.JSONSchemaProps, structural *schema.Structural, asked question) answer {
	object, ok := input.(map[string]any)
	if !ok {
		return answer{"failure": "the input is no object"}
	}
	made := update{now: object}
	if old != nil {
		if made.old, ok = old.(map[string]any); !ok {
			return answer{"failure": "the old object is no object"}
		}
		if !asked.Options.WithoutRatcheting {
			made.correlated = common.NewCorrelatedObject(made.now, made.old, &model.Structural{Structural: structural})
		}
	}
	validator, _, err := apiservervalidation.NewSchemaValidator(internal)
	if err != nil {
		return answer{"failure": err.Error()}
	}
	found := validateValues(made, validator)
	found = append(found, objectmeta.Validate(context.Background(), nil, made.now, structural, false)...)
	if made.old == nil || len(listtype.ValidateListSetsAndMaps(nil, structural, made.old)) == 0 {
		found = append(found, listtype.ValidateListSetsAndMaps(nil, structural, made.now)...)
	}
	if !asked.Options.CEL {
		return texts(found)
	}
	broken, cost := validateRules(made, structural, found)
	result := texts(append(found, broken...))
	result["cost"] = cost
	return result
}

func validateValues(made update, validator apiservervalidation.SchemaValidator) field.ErrorList {
	if made.correlated == nil {
		return apiservervalidation.ValidateCustomResource(nil, made.now, validator)
	}
	return apiservervalidation.ValidateCustomResourceUpdate(nil, made.now, made.old, validator,
		apiservervalidation.WithRatcheting(made.correlated))
}

// validateRules returns what the rules found, and what of the budget they took.
func validateRules(made update, structural *schema.Structural, found field.ErrorList) (field.ErrorList, int64) {
	validator := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	if validator == nil {
		return nil, 0
	}
	for _, one := range found {
		switch one.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was"+
				" invalid; correct the existing errors to complete validation")}, 0
		}
	}
	var options []cel.Option
	if made.correlated != nil {
		options = append(options, cel.WithRatcheting(made.correlated))
	}
	var old any
	if made.old != nil {
		old = made.old
	}
	broken, remaining := validator.Validate(context.Background(), nil, structural, made.now, old,
		celconfig.RuntimeCELCostBudget, options...)
	return broken, celconfig.RuntimeCELCostBudget - remaining
}
