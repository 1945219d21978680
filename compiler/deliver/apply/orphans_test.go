package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

func TestIsOrphan(t *testing.T) {
	const byFlux = `{"f:metadata":{"f:annotations":{"f:fleetc.dev/fleet":{}}}}`
	flux := func(cluster, fields string, annotations ...string) func(*metav1.PartialObjectMetadata) {
		return func(o *metav1.PartialObjectMetadata) {
			o.Labels["kustomize.toolkit.fluxcd.io/name"] = "web"
			o.Annotations[fleet.ClusterAnnotation] = cluster
			for _, key := range annotations {
				o.Annotations[key] = "never"
			}
			o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kustomize-controller", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)})
		}
	}
	f := orphanFinder{module: "example.com/infra", cluster: "dev", uids: map[string]bool{"1": true}, ids: map[string]bool{"ConfigMap web/known": true}}
	for name, c := range map[string]struct {
		id     string
		change func(*metav1.PartialObjectMetadata)
		want   bool
		owner  string
	}{
		"lost":          {"ConfigMap web/a", func(*metav1.PartialObjectMetadata) {}, true, ""},
		"known by UID":  {"Ingress.extensions web/a", func(o *metav1.PartialObjectMetadata) { o.UID = "1" }, false, ""},
		"known by name": {"ConfigMap web/known", func(*metav1.PartialObjectMetadata) {}, false, ""},
		"of a controller": {"ReplicaSet.apps web/a", func(o *metav1.PartialObjectMetadata) {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment"}}
		}, false, ""},
		"label alone":                     {"EndpointSlice.discovery.k8s.io web/a", func(o *metav1.PartialObjectMetadata) { o.Annotations = nil }, false, ""},
		"other fleet":                     {"ConfigMap web/a", func(o *metav1.PartialObjectMetadata) { o.Annotations[fleet.FleetAnnotation] = "example.com/other" }, false, ""},
		"hook":                            {"Job.batch web/a", func(o *metav1.PartialObjectMetadata) { o.Annotations["helm.sh/hook"] = "pre-install" }, false, ""},
		"going":                           {"ConfigMap web/a", func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = &metav1.Time{} }, false, ""},
		"taken by Flux":                   {"ConfigMap web/a", flux("dev", `{}`), false, "Flux Kustomization web"},
		"of an export":                    {"ConfigMap web/a", flux("dev", byFlux), true, "Flux Kustomization web"},
		"of an export of another cluster": {"ConfigMap web/a", flux("prod", byFlux), false, "Flux Kustomization web"},
		"of an export, and kept":          {"ConfigMap web/a", flux("dev", byFlux, "fleetc.dev/prune"), false, "Flux Kustomization web"},
		"of an export, and never pruned":  {"Namespace web", flux("dev", byFlux), false, "Flux Kustomization web"},
	} {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			UID: "2", Labels: map[string]string{fleet.ReleaseLabel: "web"}, Annotations: map[string]string{fleet.FleetAnnotation: "example.com/infra"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: cluster.Manager, Operation: metav1.ManagedFieldsOperationApply}},
		}}
		c.change(&o)
		if owner, got := f.find(c.id, o); owner != c.owner || got != c.want {
			t.Errorf("%s: %v, owner %q", name, got, owner)
		}
	}
}
