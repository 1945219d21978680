package export

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

var (
	web = &fleet.Release{Name: "web", Namespace: "web", Stage: "apps", Pos: diag.Pos{File: "web.cue", Line: 1, Col: 1}}
	db  = &fleet.Release{Name: "db", Namespace: "db", Stage: "apps", Pos: diag.Pos{File: "db.cue", Line: 1, Col: 1}}
)

// made returns an object. hook is empty, or has the events and weight of a hook.
func made(r *fleet.Release, apiVersion, kind, name string, hook ...string) fleet.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	a := map[string]string{}
	for i, text := range hook {
		a[[]string{fleet.HookAnnotation, fleet.HookWeightAnnotation, fleet.HookDeleteAnnotation}[i]] = text
	}
	if len(a) > 0 {
		u.SetAnnotations(a)
	}
	return fleet.Object{Unstructured: u, Release: r}
}

// stepsText formats steps, one per line.
func stepsText(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.name + ":")
		for _, o := range s.objects {
			b.WriteString(" " + o.GetName())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSteps(t *testing.T) {
	c := &fleet.Cluster{ID: "dev", Stages: []string{"base", "empty", "apps"}, Releases: []*fleet.Release{db, web}}
	first := &fleet.Release{Name: "first", Stage: "base"}
	for name, test := range map[string]struct {
		objs []fleet.Object
		want string
	}{
		"nothing": {},
		"no hooks": {
			[]fleet.Object{made(first, "v1", "Namespace", "ns"), made(first, "v1", "ConfigMap", "c"), made(web, "v1", "Service", "s")},
			"base: ns c\napps: s\n",
		},
		"post hooks alone": {
			[]fleet.Object{made(web, "v1", "Namespace", "ns"), made(web, "v1", "Service", "s"), made(web, "batch/v1", "Job", "j", "post-install")},
			"apps: ns s\napps.post-1: j\n",
		},
		"weights": {
			[]fleet.Object{
				made(web, "v1", "Namespace", "ns"), made(web, "v1", "Service", "s"),
				made(web, "batch/v1", "Job", "third", "pre-install,pre-upgrade", "10"),
				made(web, "batch/v1", "Job", "second", "pre-install", "2"), made(web, "v1", "ConfigMap", "before", "pre-upgrade", "-1"),
				made(web, "batch/v1", "Job", "first", "pre-install", "no number"), made(web, "v1", "ConfigMap", "last", "pre-install", "11"),
				made(db, "batch/v1", "Job", "db", "PRE-INSTALL"),
			},
			"apps.base: ns\napps.pre-1: db before first\napps.pre-2: second\napps.pre-3: third\napps.pre-4: last\napps: s\n",
		},
		"twice": {
			[]fleet.Object{
				made(web, "v1", "ServiceAccount", "account", "pre-install, post-install"),
				made(web, "batch/v1", "Job", "j", "pre-install,post-upgrade"), made(web, "v1", "Service", "s"),
			},
			"apps.pre-1: account j\napps: s\napps.post-1: j-post\n",
		},
		"for something else": {
			[]fleet.Object{made(web, "batch/v1", "Job", "j", "pre-delete"), made(web, "v1", "Pod", "p", "test"), made(web, "batch/v1", "Job", "r", "post-rollback")}, "",
		},
		"another Job": {
			[]fleet.Object{made(web, "example.com/v1", "Job", "a", "pre-install", "1"), made(web, "example.com/v1", "Job", "b", "pre-install", "2")},
			"apps.pre-1: a b\n",
		},
	} {
		got := steps(&fleet.Bundle{Cluster: c}, test.objs, hook)
		if stepsText(got) != test.want {
			t.Errorf("%s:\n%swant\n%s", name, stepsText(got), test.want)
		}
		for i, s := range got {
			if i > 0 && s.wave <= got[i-1].wave {
				t.Errorf("%s: the wave of %s is %d, after %d", name, s.name, s.wave, got[i-1].wave)
			}
			for _, o := range s.objects {
				if a := o.GetAnnotations(); a[fleet.HookAnnotation] != "" {
					t.Errorf("%s: %s is a hook of Helm's", name, o.GetName())
				}
			}
		}
	}
}

// TestStepsOfLevels checks that each level of a stage has its own steps, after those
// of the previous level.
func TestStepsOfLevels(t *testing.T) {
	level := func(name, stage string, n int) *fleet.Release {
		return &fleet.Release{Name: name, Stage: stage, Level: n}
	}
	cache, api, last := level("cache", "apps", 0), level("api", "apps", 1), level("last", "last", 0)
	b := &fleet.Bundle{Cluster: &fleet.Cluster{ID: "dev", Stages: []string{"apps", "last"}, Releases: []*fleet.Release{api, cache, last}}}
	got := steps(b, []fleet.Object{
		made(cache, "v1", "Service", "cache"), made(cache, "batch/v1", "Job", "fill", "post-install"),
		made(api, "v1", "Namespace", "ns"), made(api, "batch/v1", "Job", "migrate", "pre-install"), made(api, "v1", "Service", "api"),
		made(last, "v1", "Service", "last"),
	}, hook)
	const want = "apps: cache\napps.post-1: fill\napps.level-1.base: ns\napps.level-1.pre-1: migrate\napps.level-1: api\nlast: last\n"
	if stepsText(got) != want {
		t.Errorf("got\n%swant\n%s", stepsText(got), want)
	}
	var waves []int
	for _, s := range got {
		waves = append(waves, s.wave)
	}
	if want := []int{500, 501, 1000, 1001, 1500, 2500}; !slices.Equal(waves, want) {
		t.Errorf("the waves are %v, want %v", waves, want)
	}
}

// TestUnordered checks the fault for objects that depend on a chart with its own
// Application.
func TestUnordered(t *testing.T) {
	release := func(name string, by fleet.Delivery, depends ...string) *fleet.Release {
		r := &fleet.Release{Name: name, Delivery: by, Depends: depends}
		for i := range depends {
			r.DependsPos = append(r.DependsPos, diag.Pos{File: name + ".cue", Line: i + 1})
		}
		return r
	}
	c := &fleet.Cluster{Releases: []*fleet.Release{
		release("chart", fleet.ByHelm, "config"), release("config", fleet.ByManifests), release("other", fleet.ByHelm, "chart"), release("web", fleet.ByManifests, "chart", "config"),
	}}
	const want = "web.cue:1: releases.web.depends: Argo CD would not wait for release chart, which is a separate Application"
	if err := unordered(c); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestChecks(t *testing.T) {
	yes, no := true, false
	widget := func(name string) fleet.Object { return made(web, "example.com/v1", "Widget", name) }
	for name, test := range map[string]struct {
		rules []fleet.HealthRule
		some  []string // names in healthChecks; nil for all
		exprs []string // current expressions
		fault string
	}{
		"no rules": {},
		"a rule": {
			rules: []fleet.HealthRule{{Name: "w", Match: fleet.Selector{Kinds: []string{"Widget.example.com"}}, Ready: []fleet.HealthTest{{Expression: "status.ok"}}}},
			exprs: []string{"status.ok"},
		},
		"none is waited for": {
			rules: []fleet.HealthRule{{Name: "w", Match: fleet.Selector{Kinds: []string{"Widget.example.com"}}, Wait: &no}},
			exprs: []string{"true"},
		},
		"some are": {
			rules: []fleet.HealthRule{{Name: "w", Match: fleet.Selector{Names: []string{"a"}}, Wait: &no}},
			some:  []string{"b", "c"},
		},
		"by two rules": {
			rules: []fleet.HealthRule{
				{Name: "w", Match: fleet.Selector{Kinds: []string{"Widget.example.com"}, Names: []string{"a"}}, Ready: []fleet.HealthTest{{Expression: "status.ok"}}},
				{Name: "x", Match: fleet.Selector{Kinds: []string{"Widget.example.com"}}, Wait: &yes},
			},
			exprs: []string{"status.ok"},
			fault: "the health rules for it and for Widget.example.com a",
		},
	} {
		rules, err := kube.CompileHealthRules(&fleet.Cluster{ID: "dev", Health: test.rules, Releases: []*fleet.Release{web}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := checksOf(rules, []fleet.Object{widget("a"), widget("b"), made(web, "v1", "Service", "c")})
		if all := diag.All(err); (len(all) > 0) != (test.fault != "") || len(all) > 0 && !strings.Contains(all[0].Msg, test.fault) {
			t.Errorf("%s: %v", name, err)
		}
		var some, exprs []string
		for _, s := range got.some {
			some = append(some, s.(map[string]any)["name"].(string))
		}
		for _, x := range got.expressions {
			exprs = append(exprs, x.(map[string]any)["current"].(string))
		}
		if !slices.Equal(some, test.some) || !slices.Equal(exprs, test.exprs) {
			t.Errorf("%s: %q, %q", name, some, exprs)
		}
	}
}

// A HelmRelease has checks for the objects of its release, but not for hooks. It cannot
// wait for one of two objects of a kind.
func TestHelmChecks(t *testing.T) {
	no := false
	b := &fleet.Bundle{Objects: []fleet.Object{
		made(web, "v1", "Service", "a"), made(web, "v1", "Service", "b"), made(web, "v1", "Pod", "hook", "post-install"), made(db, "v1", "Pod", "c"),
	}}
	for name, want := range map[string]string{"a,b": "1 checks", "a": "Flux cannot wait for only some objects", "hook": "0 checks", "c": "0 checks"} {
		rules, err := kube.CompileHealthRules(&fleet.Cluster{ID: "dev", Health: []fleet.HealthRule{{Name: "w", Match: fleet.Selector{Names: strings.Split(name, ",")}, Wait: &no}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := helmChecks(rules, b, web)
		text := fmt.Sprint(len(got.expressions), " checks")
		if err != nil {
			text = diag.All(err)[0].Msg
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A HelmRelease keeps the objects that a prune by fleetc keeps.
func TestKeepPatches(t *testing.T) {
	annotated := func(name, annotation, value string) fleet.Object {
		o := made(web, "v1", "ConfigMap", name)
		o.SetAnnotations(map[string]string{annotation: value})
		return o
	}
	crd := made(web, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "of-crds")
	crd.CRD = true
	var got []string
	for _, p := range keepPatches(&fleet.Bundle{Objects: []fleet.Object{
		made(web, "v1", "PersistentVolumeClaim", "data.0"), made(web, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets"), crd,
		made(web, "v1", "PersistentVolumeClaim", "hook", "pre-install"), made(web, "v1", "Service", "web"), made(db, "v1", "PersistentVolumeClaim", "other"),
		annotated("never", "fleetc.dev/prune", "never"), annotated("kept", "helm.sh/resource-policy", "keep"),
	}}, web) {
		got = append(got, fmt.Sprint(p.(map[string]any)["target"]))
	}
	want := []string{
		`map[kind:PersistentVolumeClaim name:data\.0]`, "map[group:apiextensions.k8s.io kind:CustomResourceDefinition name:widgets]",
		"map[kind:ConfigMap name:never]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLeftToOthers(t *testing.T) {
	r := &fleet.Release{Name: "web", Ownership: []fleet.Ownership{
		{Leave: true, Target: fleet.Selector{Kinds: []string{"Deployment"}}, Fields: []fleet.FieldPath{
			{Path: []fleet.Step{{Key: "spec"}, {Key: "replicas"}}},
			{Path: []fleet.Step{{Key: "spec"}, {Key: "containers"}, {Fields: map[string]string{"name": "b", "port": "80"}}, {Key: "a/b~c"}}},
		}},
		{Target: fleet.Selector{Kinds: []string{"Service"}}, Fields: []fleet.FieldPath{{Path: []fleet.Step{{Key: "spec"}}}}},
	}}
	o := made(r, "apps/v1", "Deployment", "a.b")
	o.Object["spec"] = map[string]any{"replicas": int64(1), "containers": []any{
		map[string]any{"name": "a"}, map[string]any{"name": "b", "port": int64(80), "a/b~c": "x"},
	}}
	objs := []fleet.Object{o, made(r, "v1", "Service", "s")}
	flux := []any{map[string]any{
		"paths":  []any{"/spec/replicas", "/spec/containers/1/a~1b~0c"},
		"target": map[string]any{"group": "apps", "kind": "Deployment", "name": `a\.b`},
	}}
	if got := leftToOthers(objs, fluxIgnore); !reflect.DeepEqual(got, flux) {
		t.Errorf("Flux: %v", got)
	}
	argo := []any{map[string]any{
		"group": "apps", "kind": "Deployment", "name": "a.b",
		"jqPathExpressions": []any{".spec.replicas", `.spec.containers[] | select((.name | tostring) == "b" and (.port | tostring) == "80") | ."a/b~c"`},
	}}
	if got := leftToOthers(objs, argoIgnore); !reflect.DeepEqual(got, argo) {
		t.Errorf("Argo CD: %v", got)
	}
}

// The name of a Kustomization fits in a label.
func TestFluxNames(t *testing.T) {
	long := strings.Repeat("a", 45) + "-bb"
	for name, want := range map[string]string{
		"apps.level-1": "fleetc-apps.level-1", long + ".level-1": "fleetc-" + long + ".level-1",
		long + ".level-10": "fleetc-" + long[:45] + "-" + short("fleetc-"+long+".level-10"),
	} {
		if got := fluxName(step{name: name}); got != want || len(validation.IsValidLabelValue(got)) > 0 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestGitOpsNames(t *testing.T) {
	for id, want := range map[string]string{"dev": "dev", "prod/us/east-1": "prod.us.east-1", "Prod/eu_1": "prod.eu-1-" + short("Prod/eu_1"), "a/_": "a-" + short("a/_"), "a.b": "a.b-" + short("a.b"), "a--web": "a--web-" + short("a--web")} {
		if got := argoName(id); got != want {
			t.Errorf("the Application of %s is %s, want %s", id, got, want)
		}
	}
	long := strings.Repeat("x", 60)
	if got := withSuffix(long, "post"); len(got) > maxJobName || !strings.HasSuffix(got, "-post") || got == withSuffix(long+"y", "post") {
		t.Errorf("a long name is %s", got)
	}
	if got := options("Prune=false, Validate=false", "Prune=false", "Delete=false"); got != "Prune=false,Validate=false,Delete=false" {
		t.Errorf("options are %s", got)
	}
}
