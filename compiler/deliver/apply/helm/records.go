package helm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// This file finds and decodes the records of Helm releases.

// A Storage is the kind of object in which Helm stores releases.
type Storage string

// Helm stores releases in Secrets, or in ConfigMaps with HELM_DRIVER=configmap.
// fleetc does not find releases in a SQL database.
const (
	Secrets    Storage = "Secret"
	ConfigMaps Storage = "ConfigMap"
)

// Resource returns the name of the resource: secrets.
func (in Storage) Resource() string {
	if in == ConfigMaps {
		return "configmaps"
	}
	return "secrets"
}

// A Record is a Secret or ConfigMap with one revision of a release.
type Record struct {
	Ref     cluster.Ref
	UID     string
	Version string // resource version
}

func recordOf(o *unstructured.Unstructured) Record {
	return Record{cluster.RefOf(o), string(o.GetUID()), o.GetResourceVersion()}
}

// Releases returns the names of the releases that have records in a namespace,
// sorted.
func (in Storage) Releases(ctx context.Context, c *cluster.Cluster, namespace string) ([]string, error) {
	all, err := c.Metadata(ctx, schema.GroupVersionResource{Version: "v1", Resource: in.Resource()}, namespace, "owner=helm,name")
	var names []string
	for _, o := range all {
		names = append(names, o.Labels["name"])
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// A revision is a record with the values of its labels.
type revision struct {
	object  *unstructured.Unstructured
	version int
	status  release.Status
}

// revisions returns the revisions of a release, the newest last.
func (in Storage) revisions(ctx context.Context, c *cluster.Cluster, namespace, name string) ([]revision, error) {
	objects, err := c.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: string(in)}, namespace, "owner=helm,name="+name)
	var all []revision
	for i := range objects {
		o := &objects[i]
		o.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: string(in)})
		if n, err := strconv.Atoi(o.GetLabels()["version"]); err == nil && in.isRecord(o, name, n) {
			all = append(all, revision{o, n, release.Status(o.GetLabels()["status"])})
		}
	}
	slices.SortFunc(all, func(a, b revision) int { return cmp.Compare(a.version, b.version) })
	return all, err
}

// isRecord reports whether an object with the labels of a record has its type, for
// Secrets, or name, for ConfigMaps.
func (in Storage) isRecord(o *unstructured.Unstructured, name string, version int) bool {
	if in == ConfigMaps {
		return o.GetName() == fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, version)
	}
	typ, _, _ := unstructured.NestedString(o.Object, "type")
	return typ == "helm.sh/release.v1"
}

// decode decodes a stored revision.
func decode(record *unstructured.Unstructured) (*release.Release, error) {
	text, _, _ := unstructured.NestedString(record.Object, "data", "release")
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil && record.GetKind() != string(ConfigMaps) { // data in Secrets is encoded twice
		data, err = base64.StdEncoding.DecodeString(string(data))
	}
	if err != nil {
		return nil, err
	}
	if len(data) > 3 && bytes.Equal(data[:3], []byte{0x1f, 0x8b, 8}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(r, maxRelease+1)); err != nil {
			return nil, err
		}
		if len(data) > maxRelease {
			return nil, fmt.Errorf("it is larger than %d bytes", maxRelease)
		}
	}
	stored := &release.Release{}
	return stored, json.Unmarshal(data, stored)
}
