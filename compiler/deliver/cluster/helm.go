package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Labels of the Secrets in which Helm stores a release. Helm copies labels to the
// next revision, even if another tool creates it, so one label has the number of
// the revision.
const (
	revisionLabel = "fleetc.dev/revision"
	digestLabel   = "fleetc.dev/digest"
)

const maxRelease = 64 << 20 // of a stored revision, uncompressed

// A HelmState is the stored state of a Helm release. The zero State is that of a
// release that does not exist.
type HelmState struct {
	Revision   int    // last revision; 0 when there is none
	Status     string // status of the last revision, as in helm history
	Digest     string // cache key of the last revision; empty when another tool made it
	FromFleetc bool   // fleetc made at least one revision
	Deployed   bool   // installed: a revision is or was deployed, and the release is not uninstalled
	UID        string // UID of the last revision's Secret

	// IsTakeover is true if Helm has no deployed revision and fleetc has applied the
	// objects: the next operation is an upgrade.
	IsTakeover bool

	// Objects are the objects of the deployed revision, or of the last one when
	// none is deployed, without hooks.
	Objects []*unstructured.Unstructured

	// Extra are objects that may exist and that only other revisions have: those of
	// failed attempts, and of the revision before when an upgrade was interrupted at
	// its end.
	Extra []*unstructured.Unstructured

	// Records are the records of all revisions, the oldest first.
	Records []HelmRecord

	// Of the revisions whose objects may exist, without the one that the next upgrade
	// starts from.
	attempts       []string                       // manifests
	attemptObjects [][]*unstructured.Unstructured // objects of each

	replaced []string // manifests of the revisions but the last, whose objects may exist
}

// IsPending reports whether an operation on the release is running or was
// interrupted.
func (s *HelmState) IsPending() bool {
	return release.Status(s.Status).IsPending() || s.Status == release.StatusUninstalling.String()
}

// upgrades reports whether the next operation is an upgrade.
func (s *HelmState) upgrades() bool { return s.Deployed || s.IsTakeover }

// Read returns the state of a release.
func (in HelmStorage) Read(ctx context.Context, c *Cluster, namespace, name string) (*HelmState, error) {
	all, err := in.revisions(ctx, c, namespace, name)
	s := &HelmState{}
	if err != nil || len(all) == 0 {
		return s, err
	}
	for _, r := range all {
		s.Records = append(s.Records, recordOf(r.object))
		s.Deployed = s.Deployed || r.status == release.StatusDeployed || r.status == release.StatusSuperseded
	}
	last := all[len(all)-1]
	s.Revision, s.Status, s.UID = last.version, string(last.status), string(last.object.GetUID())
	labels := last.object.GetLabels()
	_, s.FromFleetc = labels[revisionLabel]
	if labels[revisionLabel] == strconv.Itoa(last.version) {
		s.Digest = labels[digestLabel]
	}
	s.Deployed = s.Deployed && last.status != release.StatusUninstalled
	return s, s.addObjects(ctx, c, in, all)
}

// liveRevisions returns the range of revisions whose objects may exist, and the
// index of the current one: the deployed one, else the last.
func liveRevisions(all []revision) (first, current int) {
	for i, r := range slices.Backward(all) {
		if r.status == release.StatusDeployed {
			return i, i
		}
	}
	first = len(all) - 1
	for first > 0 && all[first].status != release.StatusSuperseded && all[first-1].status != release.StatusUninstalled {
		first--
	}
	return first, len(all) - 1
}

// addObjects adds the objects of all revisions whose objects may exist.
func (s *HelmState) addObjects(ctx context.Context, c *Cluster, in HelmStorage, all []revision) error {
	first, current := liveRevisions(all)
	manifests, objects := make([]string, len(all)), make([][]*unstructured.Unstructured, len(all))
	for i, r := range all[first:] {
		stored, err := decode(r.object)
		if err != nil {
			return invalidRecord(fmt.Sprintf("%s %s/%s", in, r.object.GetNamespace(), r.object.GetName()), err)
		}
		manifests[first+i] = stored.Manifest
		if objects[first+i], err = objectsOf(ctx, c, stored); err != nil {
			return err
		}
	}
	seen := map[Ref]bool{}
	for _, o := range objects[current] {
		seen[RefOf(o)] = true
	}
	s.Objects = objects[current]
	for i := first; i < len(all); i++ {
		if i != current || !s.Deployed {
			s.attempts, s.attemptObjects = append(s.attempts, manifests[i]), append(s.attemptObjects, objects[i])
		}
		for _, o := range objects[i] {
			if ref := RefOf(o); !seen[ref] {
				seen[ref] = true
				s.Extra = append(s.Extra, o)
			}
		}
	}
	s.replaced = manifests[first : len(all)-1]
	return nil
}

// objectsOf returns the objects of a stored revision, with their namespaces.
func objectsOf(ctx context.Context, c *Cluster, stored *release.Release) ([]*unstructured.Unstructured, error) {
	manifests := releaseutil.SplitManifests(stored.Manifest)
	names := slices.SortedFunc(maps.Keys(manifests), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var out []*unstructured.Unstructured
	for _, name := range names {
		// Without a line break at the end, a block scalar loses its own.
		text, err := yaml.YAMLToJSON([]byte(strings.TrimSuffix(manifests[name], "\n") + "\n"))
		if err != nil || string(text) == "null" {
			continue // Helm does not store empty documents
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(text); err != nil {
			continue
		}
		if o.GetNamespace() == "" {
			if r, served, err := c.Resource(ctx, o.GroupVersionKind()); err != nil {
				return nil, err
			} else if served && r.Namespaced {
				o.SetNamespace(stored.Namespace)
			}
		}
		out = append(out, o)
	}
	return out, nil
}
