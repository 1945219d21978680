package diag

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"cuelang.org/go/cue"
)

// A shape is an example of a field that beginners often write with the wrong type.
type shape struct {
	path *regexp.Regexp
	hint string
}

// shapes are compiled when a fault needs them, as patterns are.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{regexp.MustCompile(`^cluster$`), `write cluster: {name: "NAME", kubernetes: "1.36"}`},
		{regexp.MustCompile(`^$`), `write the fields of the layer, such as releases: "NAME": {...}`},
		{regexp.MustCompile(`^releases$`), `write releases: "NAME": {...}`},
		{regexp.MustCompile(`^releases\.[^.]+$`), `write releases: "NAME": {namespace: "NAME", ...}, or keep it out of a cluster with its field clusters`},
		{regexp.MustCompile(`^stages(?:\.\d+)?$`), `write stages: [{name: "NAME"}, ...]`},
		{regexp.MustCompile(`^releases\..*\.values$`), `write values: {KEY: VALUE}, or read a file with values: _ @embed(file=values.yaml)`},
		{regexp.MustCompile(`^releases\.[^.]+\.chart$`), `run fleetc chart add, which writes all of a chart's fields`},
		{regexp.MustCompile(`^releases\.[^.]+\.clusters$`), `write clusters: ids: ["prod/eu"], or clusters: labels: tier: "gold"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.jsonnet$`), `write the path itself: jsonnet: "apps/web.jsonnet"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.kustomize$`), `write the path itself: kustomize: "apps/web/prod"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.manifests$`), `write the path itself: manifests: "apps/web"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.depends$`), `write depends: "NAME": true, with the name of a release`},
		{regexp.MustCompile(`^releases\..*\.patches\.("[^"]*"|[^.]+)\.images$`), `write images: "docker.io/": "registry.example.com/hub/"`},
		{regexp.MustCompile(`^releases\..*\.target\.labels$`), `write labels: KEY: "VALUE"`},
		{regexp.MustCompile(`^releases\.[^.]+\.patches$`), `write patches: "NAME": {...}`},
		{regexp.MustCompile(`^releases\.[^.]+\.plaintext$`), `write plaintext: "Secret/NAME": "why"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.random\.`), `write keep: true or drop: true after it, or value: and a value`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.plaintext\.`), `write plaintext: "Secret/NAME": "why"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.secretsIn\.`), `write secretsIn: "KIND/NAME": "why"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.stage$`), `write stage: "NAME", with the name of a stage`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.typed$`), `write typed: "required", or remove the line`},
		{regexp.MustCompile(`^cluster\.apis$`), `write apis: "example.com/v1": KIND: "Namespaced"`},
	}
})

func shapeOf(path string) string {
	for _, s := range shapes() {
		if s.path.MatchString(path) {
			return s.hint
		}
	}
	return ""
}

// missing explains a required field without a value.
func (x *explanation) missing([]string) {
	name := x.Path[strings.LastIndex(x.Path, ".")+1:]
	value := `"..."`
	switch kind := requiredKind(x.v, x.Path); {
	case kind == cue.ListKind:
		value = `["..."]`
	case kind == cue.StructKind:
		value = "{...}"
	case kind != 0 && kind&cue.StringKind == 0:
		value = "..."
	case x.Path == "cluster.kubernetes":
		value = `"1.36"`
	case name == "namespace" || name == "name":
		value = `"NAME"`
	}
	if strings.HasPrefix(name, "#") {
		value = "..." // parameter
	}
	x.Hint = cmp.Or(x.Hint, "add "+name+": "+value)
}

// requiredKind returns the kinds that the type of a required field without a value allows;
// none if they are not known.
func requiredKind(v cue.Value, path string) cue.Kind {
	p := parsePath(path)
	sel := p.Selectors()
	if p.Err() != nil || len(sel) == 0 || sel[len(sel)-1].LabelType() != cue.StringLabel {
		return 0
	}
	sel[len(sel)-1] = sel[len(sel)-1].Required()
	return v.LookupPath(cue.MakePath(sel...)).IncompleteKind()
}
