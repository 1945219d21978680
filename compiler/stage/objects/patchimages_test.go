package objects

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

func TestImageFaults(t *testing.T) {
	testFaults(t, []faultTest{
		{"images", []string{
			`{images: {"docker.io/libary/": "x.example/", "gcr.io/": "x.example/"}}`,
			`{images: {"quayy.io": "x.example"}}`,
			`{target: {kinds: [ConfigMap]}, images: {"quay.io": "x.example"}}`,
			`{images: {"gcr.io/": "x.example/"}}`,
		}, `
fleet.cue:10:2: releases."my-web".patches.p0.images: matches nothing: no image begins with docker.io/libary/, gcr.io/ [FL1511]
    hint: did you mean docker.io/library/?
fleet.cue:11:2: releases."my-web".patches.p1.images: matches nothing: no image begins with quayy.io [FL1511]
    hint: did you mean quay.io?
fleet.cue:12:2: releases."my-web".patches.p2.images: matches nothing: no object has an image [FL1511]
    hint: remove the patch, or set optional: true
fleet.cue:13:2: releases."my-web".patches.p3.images: matches nothing: no image begins with gcr.io/ [FL1511]
    hint: did you mean ghcr.io/?
`},
	})
}

func TestRename(t *testing.T) {
	for _, test := range []struct{ from, to, image, want string }{
		{"docker.io/", "r.example/", "nginx", "r.example/library/nginx"},
		{"docker.io/", "r.example/", "nginx:1@sha256:00", "r.example/library/nginx:1@sha256:00"},
		{"docker.io/", "r.example/", "acme/web", "r.example/acme/web"},
		{"docker.io/", "r.example/", "docker.io/nginx", "r.example/library/nginx"},
		{"docker.io/", "r.example/", "index.docker.io/acme/web:2", "r.example/acme/web:2"},
		{"docker.io", "r.example", "docker.io/library/nginx", "r.example/library/nginx"},
		{"docker.io/", "r.example/", "quay.io/acme/web", "quay.io/acme/web"},
		{"docker.io/", "r.example/", "localhost/web", "localhost/web"},
		{"docker.io/", "r.example/", "registry:5000/web", "registry:5000/web"},
		{"nginx", "r.example/proxy", "nginx:1.27", "r.example/proxy:1.27"},
		{"nginx", "r.example/proxy", "library/nginx", "r.example/proxy"},
		{"nginx", "r.example/proxy", "nginx-exporter", "nginx-exporter"},
		{"nginx", "r.example/proxy", "nginx/nginx-ingress:3", "nginx/nginx-ingress:3"},
		{"nginx:1.27", "nginx:1.28", "nginx:1.27", "nginx:1.28"},
		{"nginx:1.27", "nginx:1.28", "nginx:1.27@sha256:00", "nginx:1.28@sha256:00"},
		{"nginx:1.2", "nginx:1.3", "nginx:1.27", "nginx:1.27"},
		{"docker.io/nginx", "r.example/proxy", "nginx", "r.example/proxy"},
		{"acme/", "r.example/", "acme/web", "r.example/web"},
		{"acme/", "r.example/", "acme-labs/web", "acme-labs/web"},
		{"acme/web", "r.example/web", "acme/website", "acme/website"},
		{"index.docker.io/acme", "r.example/a", "acme/web", "r.example/a/web"},
		{"quay.io", "r.example/quay", "quay.io/acme/web:1", "r.example/quay/acme/web:1"},
		{"quay.io", "r.example/quay", "quay.iot/acme/web:1", "quay.iot/acme/web:1"},
		{"localhost:5000", "r.example", "localhost:5000/web", "r.example/web"},
		{"", "r.example/", "nginx", "r.example/docker.io/library/nginx"},
		{"", "r.example/", "quay.io/acme/web", "r.example/quay.io/acme/web"},
	} {
		r := newRenaming(map[string]string{test.from: test.to})
		if got, fits := r.rename(test.image); got != test.want || fits != (got != test.image) {
			t.Errorf("%q to %q makes %q of %q, want %q (fits: %t)", test.from, test.to, got, test.image, test.want, fits)
		}
	}
}

func TestRenameTakesTheLongest(t *testing.T) {
	r := newRenaming(map[string]string{"": "m.example/", "m.example/": "m.example/", "quay.io": "q.example", "quay.io/acme/": "a.example/", "quay.io/acme/web": "w.example/w"})
	for image, want := range map[string]string{
		"quay.io/acme/web:1": "w.example/w:1", "quay.io/acme/api": "a.example/api", "quay.io/other": "q.example/other",
		"ghcr.io/x": "m.example/ghcr.io/x", "m.example/x": "m.example/x",
	} {
		if got, fits := r.rename(image); got != want || !fits {
			t.Errorf("%s becomes %s, want %s", image, got, want)
		}
	}
	// An image that already has the new name is not a fault.
	if got, fits := newRenaming(map[string]string{"nginx": "r.example/nginx"}).rename("r.example/nginx:1"); got != "r.example/nginx:1" || !fits {
		t.Errorf("r.example/nginx:1 becomes %s, fits: %t", got, fits)
	}
}

// Images are found in every kind with pods, and in no other kind.
func TestKindsWithImages(t *testing.T) {
	a := &application{images: map[*kube.Schema]bool{}}
	var kinds []string
	for _, k := range newest(t).Kinds() {
		if a.hasImages(newest(t).Schema(k.GroupVersionKind)) {
			kinds = append(kinds, k.Kind)
		}
	}
	slices.Sort(kinds)
	want := "CronJob DaemonSet Deployment Job Pod PodTemplate ReplicaSet ReplicationController StatefulSet"
	if got := strings.Join(slices.Compact(kinds), " "); got != want {
		t.Errorf("kinds with images: %s\nwant %s", got, want)
	}
}

func TestImages(t *testing.T) {
	object := func(kind, version string, spec map[string]any) fleet.Object {
		return fleet.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}}
	}
	containers := func(images ...any) []any {
		var out []any
		for _, i := range images {
			out = append(out, map[string]any{"image": i})
		}
		return out
	}
	got := Images(&fleet.Cluster{KubeVersion: "1.36"}, []fleet.Object{
		object("Pod", "v1", map[string]any{
			"containers": containers("a:1", "", 3, "b"), "initContainers": containers("c@sha256:00"),
			"volumes": []any{map[string]any{"image": map[string]any{"reference": "d"}}},
		}),
		object("Prometheus", "monitoring.coreos.com/v1", map[string]any{"image": "x", "containers": containers("y")}),
		{},
		object("CronJob", "batch/v1", map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers("e")}}}}}),
	})
	var texts [][]string
	for _, images := range got {
		var of []string
		for _, image := range images {
			of = append(of, image.Image+" "+strings.Join(image.Path, "."))
		}
		slices.Sort(of)
		texts = append(texts, of)
	}
	want := [][]string{
		{"a:1 spec.containers.0.image", "b spec.containers.3.image", "c@sha256:00 spec.initContainers.0.image", "d spec.volumes.0.image.reference"},
		nil, nil,
		{"e spec.jobTemplate.spec.template.spec.containers.0.image"},
	}
	if got := texts; !reflect.DeepEqual(got, want) {
		t.Errorf("the images are %q, want %q", got, want)
	}
}
