package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

const deepestValue = 64

// evaluator evaluates expressions of any type over an object in the environment of rules.
type evaluator struct {
	environment *cel.Env
	variables   map[string]any
	estimator   *library.CostEstimator
}

// evaluate tells of each expression its type, its value and its cost, or why it has none.
func evaluate(input, old any, structural *schema.Structural, asked question) answer {
	made, err := evaluatorOf(input, old, structural, asked.Options.ResourceRoot == nil || *asked.Options.ResourceRoot)
	if err != nil {
		return answer{"error": err.Error()}
	}
	told := []answer{}
	for _, expression := range asked.Options.Expressions {
		told = append(told, made.tell(expression))
	}
	return answer{"results": told}
}

func evaluatorOf(input, old any, structural *schema.Structural, root bool) (*evaluator, error) {
	typed := model.SchemaDeclType(structural, root)
	if typed == nil {
		return nil, fmt.Errorf("the schema has no type for rules")
	}
	typed = typed.MaybeAssignTypeName("selfType")
	extended, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions: []cel.EnvOption{
				cel.Variable("self", typed.CelType()),
				cel.Variable("oldSelf", typed.CelType()),
			},
			DeclTypes: []*apiservercel.DeclType{typed},
		})
	if err != nil {
		return nil, err
	}
	if root {
		structural = model.WithTypeAndObjectMeta(structural)
	}
	made := &evaluator{
		environment: extended.NewExpressionsEnv(),
		variables:   map[string]any{"self": schemacel.UnstructuredToVal(input, structural)},
		estimator:   &library.CostEstimator{},
	}
	if old != nil {
		made.variables["oldSelf"] = schemacel.UnstructuredToVal(old, structural)
	}
	return made, nil
}

func (e *evaluator) tell(expression string) (told answer) {
	defer func() {
		if failure := recover(); failure != nil {
			told = answer{"failure": fmt.Sprint(failure)}
		}
	}()
	ast, issues := e.environment.Compile(expression)
	if issues != nil {
		return answer{"compileError": issues.String()}
	}
	told = answer{"type": ast.OutputType().String()}
	program, err := e.environment.Program(ast,
		cel.CostLimit(celconfig.PerCallLimit),
		cel.CostTracking(e.estimator),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		told["compileError"] = err.Error()
		return told
	}
	value, details, err := program.ContextEval(context.Background(), e.variables)
	if details != nil && details.ActualCost() != nil {
		told["cost"] = *details.ActualCost()
	}
	if err != nil {
		told["error"] = err.Error()
		return told
	}
	told["value"] = tagged(value, deepestValue)
	return told
}

// tagged writes a value so that its type can be told: {"int": "1"}, {"list": [...]}.
func tagged(value ref.Val, depth int) any {
	if depth == 0 {
		return answer{"deep": true}
	}
	switch typed := value.(type) {
	case types.Bool:
		return answer{"bool": bool(typed)}
	case types.Int:
		return answer{"int": strconv.FormatInt(int64(typed), 10)}
	case types.Uint:
		return answer{"uint": strconv.FormatUint(uint64(typed), 10)}
	case types.Double:
		return answer{"double": strconv.FormatFloat(float64(typed), 'g', -1, 64)}
	case types.String:
		return answer{"string": string(typed)}
	case types.Bytes:
		return answer{"bytes": base64.StdEncoding.EncodeToString(typed)}
	case types.Null:
		return answer{"null": true}
	case types.Timestamp:
		return answer{"timestamp": typed.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return answer{"duration": typed.Duration.String()}
	case *types.Optional:
		if !typed.HasValue() {
			return answer{"optional": nil}
		}
		return answer{"optional": tagged(typed.GetValue(), depth-1)}
	case *types.Type:
		return answer{"type": typed.String()}
	}
	return taggedOther(value, depth)
}

func taggedOther(value ref.Val, depth int) any {
	switch typed := value.(type) {
	case apiservercel.URL:
		return answer{"url": typed.String()}
	case apiservercel.IP:
		return answer{"ip": typed.Addr.String()}
	case apiservercel.CIDR:
		return answer{"cidr": typed.Prefix.String()}
	case apiservercel.Quantity:
		return answer{"quantity": typed.String()}
	case apiservercel.Semver:
		return answer{"semver": typed.Version.String()}
	case apiservercel.Format:
		return answer{"format": typed.Name}
	case traits.Mapper:
		return answer{"map": taggedMap(typed, depth)}
	case traits.Lister:
		items := []any{}
		for i := types.Int(0); i < typed.Size().(types.Int); i++ {
			items = append(items, tagged(typed.Get(i), depth-1))
		}
		return answer{"list": items}
	}
	return answer{"other": value.Type().TypeName()}
}

// taggedMap writes the entries in the order of their keys' texts.
func taggedMap(mapped traits.Mapper, depth int) []any {
	entries := [][2]any{}
	for keys := mapped.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		entries = append(entries, [2]any{tagged(key, depth-1), tagged(mapped.Get(key), depth-1)})
	}
	sort.Slice(entries, func(i, j int) bool { return fmt.Sprint(entries[i][0]) < fmt.Sprint(entries[j][0]) })
	written := []any{}
	for _, entry := range entries {
		written = append(written, entry)
	}
	return written
}
