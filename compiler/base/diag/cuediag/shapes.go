package cuediag

import (
	"regexp"
	"sync"
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
		{regexp.MustCompile(`^releases\.[^.]+$`), `write releases: "NAME": {namespace: "NAME", ...}`},
		{regexp.MustCompile(`^stages$`), `write stages: [{name: "NAME"}, ...]`},
		{regexp.MustCompile(`^releases\..*\.values$`), `write values: {KEY: VALUE}, or read a file with values: _ @embed(file=values.yaml)`},
		{regexp.MustCompile(`^releases\.[^.]+\.chart$`), `run fleetc chart add, which writes all of a chart's fields`},
		{regexp.MustCompile(`^releases\.[^.]+\.clusters$`), `write clusters: ids: ["prod/eu"], or clusters: labels: tier: "gold"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.jsonnet$`), `write the path itself: jsonnet: "apps/web.jsonnet"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.kustomize$`), `write the path itself: kustomize: "apps/web/prod"`},
		{regexp.MustCompile(`^releases\.("[^"]*"|[^.]+)\.manifests$`), `write the path itself: manifests: "apps/web"`},
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
