package source

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// nativeNames are the functions for std.native.
var nativeNames = []string{"helmTemplate", "manifestYaml", "parseYaml", "sha256"}

// natives returns the native functions. Their results depend on their arguments
// only.
func (m *machine) natives() []*jsonnet.NativeFunction {
	function := func(name string, params ast.Identifiers, call func(args []any) (any, error)) *jsonnet.NativeFunction {
		return &jsonnet.NativeFunction{Name: name, Params: params, Func: func(args []any) (any, error) {
			out, err := call(args)
			if err == nil {
				return out, nil
			}
			first := diag.All(err)[0]
			msg := strings.TrimPrefix(first.Path+": ", ": ") + first.Msg
			return nil, m.run.register(&diag.Diag{Code: diag.CodeJsonnet, At: first.At, Msg: name + ": " + msg, Hint: cmp.Or(first.Hint, "correct the arguments of "+name), Cause: err})
		}}
	}
	return []*jsonnet.NativeFunction{
		function("helmTemplate", ast.Identifiers{"name", "chart", "opts"}, func(args []any) (any, error) { return m.run.helmTemplate(args) }),
		function("manifestYaml", ast.Identifiers{"value"}, func(args []any) (any, error) { return manifestYaml(args[0]) }),
		function("parseYaml", ast.Identifiers{"text"}, parseYaml),
		function("sha256", ast.Identifiers{"text"}, func(args []any) (any, error) {
			text, err := textOf(args[0], "text")
			sum := sha256.Sum256([]byte(text))
			return hex.EncodeToString(sum[:]), err
		}),
	}
}

func textOf(v any, name string) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is %s: it must be a string", name, jsonnetKindOf(v))
	}
	return s, nil
}

// helmTemplate renders a chart and returns its objects by kind and name.
func (t *run) helmTemplate(args []any) (any, error) {
	call := HelmCall{Namespace: t.req.Release.Namespace, Values: map[string]any{}}
	var err error
	if call.Name, err = textOf(args[0], "name"); err != nil {
		return nil, err
	}
	if call.Chart, err = textOf(args[1], "chart"); err != nil {
		return nil, err
	}
	opts, ok := args[2].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("opts is %s: it must be an object", jsonnetKindOf(args[2]))
	}
	for _, name := range slices.Sorted(maps.Keys(opts)) {
		switch name {
		case "namespace":
			if call.Namespace, err = textOf(opts[name], "opts.namespace"); err != nil {
				return nil, err
			}
		case "values":
			if call.Values, ok = opts[name].(map[string]any); !ok {
				return nil, fmt.Errorf("opts.values is %s: it must be an object", jsonnetKindOf(opts[name]))
			}
		default:
			return nil, &diag.Diag{Code: diag.CodeJsonnet, Msg: "opts has no field " + name, Hint: diag.OneOf(name, []string{"namespace", "values"})}
		}
	}
	if t.req.HelmTemplate == nil {
		return nil, errors.New("charts are not available here")
	}
	objs, err := t.req.HelmTemplate(t.ctx, call)
	if err != nil {
		return nil, err
	}
	return byKindAndName(objs)
}

// byKindAndName returns objects as a map that a file can patch, with keys such
// as deployment_web. Equal keys get the namespace, and then a number.
func byKindAndName(objs []fleet.Object) (any, error) {
	count := map[string]int{}
	for _, o := range objs {
		count[snake(o.GetKind()+"_"+o.GetName())]++
	}
	out := make(map[string]any, len(objs))
	for _, o := range objs {
		key := snake(o.GetKind() + "_" + o.GetName())
		if count[key] > 1 && o.GetNamespace() != "" {
			key = snake(o.GetKind() + "_" + o.GetNamespace() + "_" + o.GetName())
		}
		free := key
		for n := 2; out[free] != nil; n++ {
			free = key + "_" + strconv.Itoa(n)
		}
		v, err := jsonnetPlain(o.Object, 0)
		if err != nil {
			return nil, below(free, err)
		}
		out[free] = v
	}
	return out, nil
}

// snake returns a name that is a Jsonnet identifier: ServiceAccount_my-app
// becomes service_account_my_app.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	return b.String()
}

// parseYaml returns the documents of a text as an array, without empty ones.
func parseYaml(args []any) (any, error) {
	text, err := textOf(args[0], "text")
	if err != nil {
		return nil, err
	}
	docs := []any{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for n := 1; ; n++ {
		doc, err := reader.Read()
		if err == io.EOF {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := fleet.YAMLToJSON(doc)
		if err != nil {
			return nil, fmt.Errorf("document %d: %s", n, fleet.YAMLMessage(err))
		}
		if bytes.Equal(data, []byte("null")) {
			continue
		}
		v, err := decodeJsonnet(data, 0)
		if err != nil {
			return nil, below("document "+strconv.Itoa(n), err)
		}
		docs = append(docs, v)
	}
}

// manifestYaml returns a value as YAML with sorted keys. It does not depend on
// the version of the standard library.
func manifestYaml(v any) (any, error) {
	out, err := yaml.Marshal(v)
	return string(out), err
}
