package cluster

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
	"strings"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// This file finds and decodes the records of Helm releases.

// A HelmStorage is the kind of object in which Helm stores releases.
type HelmStorage string

// Helm stores releases in Secrets, or in ConfigMaps with HELM_DRIVER=configmap.
// fleetc does not find releases in a SQL database.
const (
	HelmSecrets    HelmStorage = "Secret"
	HelmConfigMaps HelmStorage = "ConfigMap"
)

// Resource returns the name of the resource: secrets.
func (in HelmStorage) Resource() string {
	return strings.ToLower(string(in)) + "s"
}

// A HelmRecord is a Secret or ConfigMap with one revision of a release.
type HelmRecord struct {
	Ref     Ref
	UID     string
	Version string // resource version
}

func recordOf(o *unstructured.Unstructured) HelmRecord {
	return HelmRecord{RefOf(o), string(o.GetUID()), o.GetResourceVersion()}
}

// Releases returns the names of the releases that have records in a namespace,
// sorted.
func (in HelmStorage) Releases(ctx context.Context, c *Cluster, namespace string) ([]string, error) {
	all, err := c.Metadata(ctx, schema.GroupVersionResource{Version: "v1", Resource: in.Resource()}, namespace, "owner=helm,name")
	return diag.Distinct(diag.Each(all, func(o metav1.PartialObjectMetadata) string { return o.Labels["name"] })), err
}

// A revision is a record with the values of its labels.
type revision struct {
	object  *unstructured.Unstructured
	version int
	status  release.Status
}

// revisions returns the revisions of a release, the newest last.
func (in HelmStorage) revisions(ctx context.Context, c *Cluster, namespace, name string) ([]revision, error) {
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
func (in HelmStorage) isRecord(o *unstructured.Unstructured, name string, version int) bool {
	if in == HelmConfigMaps {
		return o.GetName() == fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, version)
	}
	typ, _, _ := unstructured.NestedString(o.Object, "type")
	return typ == "helm.sh/release.v1"
}

// decode decodes a stored revision.
func decode(record *unstructured.Unstructured) (*release.Release, error) {
	text, _, _ := unstructured.NestedString(record.Object, "data", "release")
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil && record.GetKind() != string(HelmConfigMaps) { // data in Secrets is encoded twice
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
