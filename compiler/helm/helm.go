// Package helm makes releases of Helm's own in a cluster, with Helm's library:
// it reads what Helm has stored of a release, installs, upgrades, tests and
// uninstalls. What comes out is what the helm program makes, and works on.
//
// It decides nothing about whether a release may be touched, waits for nothing
// by itself and reads no file: the chart's content is given, charts are not
// looked for, and the directories and variables in which helm keeps its
// settings are not looked at. What Helm logs is dropped.
package helm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/live"
)

// Labels of the Secrets in which Helm stores a release. Helm takes them along
// from one revision to the next, whoever makes that: so the first says of which
// one they are.
const (
	revisionLabel = "fleetc.dev/revision"
	digestLabel   = "fleetc.dev/digest"
)

const maxRelease = 64 << 20 // of a stored revision, unpacked

// A State is what Helm has stored of a release. The zero State is that of one
// which is not there.
type State struct {
	Revision int    // of the last; 0 when there is none
	Status   string // of the last, as helm history has it
	Digest   string // that the last was made with by fleetc; empty when somebody else made it
	Known    bool   // whether fleetc made one of its revisions
	Deployed bool   // whether it is installed: one of them is deployed, or was and has not been uninstalled
	UID      string // of the Secret with the last

	// Objects are those of the revision that is deployed, of the last when none
	// is, without hooks.
	Objects []*unstructured.Unstructured

	// Left are those that later revisions, which failed, have beside these.
	Left []*unstructured.Unstructured

	// Records are those of all revisions, the oldest first.
	Records []Record

	attempts []string                       // manifests of revisions that failed since the one that is deployed, or all as long as none is
	tried    [][]*unstructured.Unstructured // objects of these
}

// IsPending reports whether an operation on the release is under way, or has
// died.
func (s *State) IsPending() bool {
	return release.Status(s.Status).IsPending() || s.Status == release.StatusUninstalling.String()
}

// Read returns what Helm has stored of a release in Secrets.
func Read(ctx context.Context, c *live.Cluster, namespace, name string) (*State, error) {
	return Secrets.Read(ctx, c, namespace, name)
}

// Read returns what Helm has stored of a release.
func (in Storage) Read(ctx context.Context, c *live.Cluster, namespace, name string) (*State, error) {
	all, err := in.revisions(ctx, c, namespace, name)
	s := &State{}
	if err != nil || len(all) == 0 {
		return s, err
	}
	for _, r := range all {
		s.Records = append(s.Records, recordOf(r.object))
	}
	last := all[len(all)-1]
	s.Revision, s.Status, s.UID = last.version, string(last.status), string(last.object.GetUID())
	labels := last.object.GetLabels()
	_, s.Known = labels[revisionLabel]
	if labels[revisionLabel] == strconv.Itoa(last.version) {
		s.Digest = labels[digestLabel]
	}
	runs := len(all) - 1
	for i, r := range all {
		if r.status == release.StatusDeployed {
			runs = i
		}
		s.Deployed = s.Deployed || r.status == release.StatusDeployed || r.status == release.StatusSuperseded
	}
	s.Deployed = s.Deployed && last.status != release.StatusUninstalled
	has := map[live.Ref]bool{}
	for i, r := range all[runs:] {
		stored, err := decode(r.object)
		if err != nil {
			return nil, &diag.Diag{
				Msg:  fmt.Sprintf("%s %s/%s is not what Helm writes: %s", in, namespace, r.object.GetName(), diag.Visible(err.Error(), diag.MaxText)),
				Hint: "see helm history " + name,
			}
		}
		objects, err := objectsOf(ctx, c, stored)
		if err != nil {
			return nil, err
		}
		if i > 0 || !s.Deployed {
			s.attempts, s.tried = append(s.attempts, stored.Manifest), append(s.tried, objects)
		}
		for _, o := range objects {
			if ref := live.RefOf(o); i == 0 {
				has[ref] = true
				s.Objects = append(s.Objects, o)
			} else if !has[ref] {
				has[ref] = true
				s.Left = append(s.Left, o)
			}
		}
	}
	return s, nil
}

// objectsOf returns the objects of a stored revision, with their namespaces.
func objectsOf(ctx context.Context, c *live.Cluster, stored *release.Release) ([]*unstructured.Unstructured, error) {
	manifests := releaseutil.SplitManifests(stored.Manifest)
	names := make([]string, 0, len(manifests))
	for name := range manifests {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var out []*unstructured.Unstructured
	for _, name := range names {
		text, err := yaml.YAMLToJSON([]byte(manifests[name]))
		if err != nil || string(text) == "null" {
			continue // Helm would not have stored it
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
