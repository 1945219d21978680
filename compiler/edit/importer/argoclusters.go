package importer

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file reads the Secrets in which Argo CD has its clusters. Nothing reads their
// credentials.

// ArgoCDSecrets are cluster Secrets as kubectl get prints them.
type ArgoCDSecrets struct {
	File string // for positions
	Data []byte
}

// Names of Argo CD in cluster Secrets.
const (
	inClusterName = "in-cluster"
	labelPrefix   = "argocd.argoproj.io/"
	typeLabel     = labelPrefix + "secret-type"
)

// A destination is a cluster in a Secret.
type destination struct {
	name, server, project string
	labels, annotations   map[string]string
}

// readSecrets reads the cluster Secrets that the user gives.
func (r *argoReader) readSecrets() error {
	if r.opts.Secrets == nil {
		return nil
	}
	for node, err := range fleet.YAMLDocuments(r.opts.Secrets.Data) {
		if err != nil {
			return &diag.Diag{
				Code: diag.CodeImportInvalid, At: []diag.Pos{{File: r.opts.Secrets.File}},
				Msg:  "not valid YAML: " + yamlReason(err),
				Hint: "write what kubectl get secret -o yaml prints",
			}
		}
		if len(node.Content) > 0 {
			r.addDestinations(node.Content[0])
		}
	}
	return nil
}

// addDestinations adds the clusters of a document, which may be a list.
func (r *argoReader) addDestinations(node *yaml.Node) {
	items := childNode(node, "items")
	if items == nil {
		r.addDestination(node)
		return
	}
	for _, item := range items.Content {
		r.addDestination(item)
	}
}

// addDestination adds the cluster of a document that is a cluster Secret with a name. The
// last one with a name counts, as in Argo CD.
func (r *argoReader) addDestination(node *yaml.Node) {
	if scalar(childNode(node, "kind")) != "Secret" {
		return
	}
	var content struct {
		Metadata struct {
			Labels, Annotations map[string]string
		}
		Data       map[string]string
		StringData map[string]string `yaml:"stringData"`
	}
	if node.Decode(&content) != nil || content.Metadata.Labels[typeLabel] != "cluster" {
		return
	}
	value := func(key string) string {
		decoded, err := base64.StdEncoding.DecodeString(content.Data[key])
		if text, ok := content.StringData[key]; ok || err != nil {
			return text
		}
		return string(decoded)
	}
	made := &destination{name: value("name"), server: strings.TrimSuffix(value("server"), "/"), project: value("project")}
	made.labels, made.annotations = content.Metadata.Labels, content.Metadata.Annotations
	if made.name == "" || made.server == "" || strings.HasPrefix(made.name, "ENC[") || strings.HasPrefix(made.server, "ENC[") {
		return
	}
	r.destinations = slices.DeleteFunc(r.destinations, func(other *destination) bool { return other.name == made.name })
	r.destinations = append(r.destinations, made)
}

// params returns the parameters of a clusters generator for the cluster.
func (d *destination) params() map[string]any {
	metadata := map[string]any{}
	if len(d.labels) > 0 {
		metadata["labels"] = d.labels
	}
	if len(d.annotations) > 0 {
		metadata["annotations"] = d.annotations
	}
	return map[string]any{"name": d.name, "nameNormalized": normalized(d.name), "server": d.server, "project": d.project, "metadata": metadata}
}

// clusterParams returns the parameters of the clusters that a clusters generator selects.
// Without cluster Secrets, they are the destinations that the user named.
func (s *argoSet) clusterParams(spec map[string]any, field []string) ([]map[string]any, error) {
	selector := mapAt(spec, "selector")
	selectsAll := len(mapAt(selector, "matchLabels"))+len(listAt(selector, "matchExpressions")) == 0
	var selected []*destination
	switch {
	case s.opts.Secrets != nil || len(s.destinations) > 0:
		isLocal := func(d *destination) bool { return d.server == inCluster }
		selected = diag.Filter(s.destinations, func(d *destination) bool { return selects(selector, d.labels) })
		if selectsAll && !slices.ContainsFunc(selected, isLocal) {
			selected = append(selected, &destination{name: inClusterName, server: inCluster})
		}
	case selectsAll && len(s.opts.Clusters) > 0:
		for _, c := range s.opts.Clusters {
			selected = append(selected, &destination{name: c.Source, server: c.Source})
		}
	default:
		s.skip(field, "the clusters of Argo CD are unknown", "give their Secrets with --cluster-secrets FILE: kubectl get secret -n argocd -l argocd.argoproj.io/secret-type=cluster -o yaml")
		return nil, nil
	}
	out := diag.Each(selected, (*destination).params)
	if err := s.addValues(out, spec); err != nil {
		return nil, err
	}
	if isTrueAt(spec, "flatList") {
		list := diag.Each(out, func(params map[string]any) any { return params })
		return []map[string]any{{"clusters": list}}, nil
	}
	return out, nil
}

// destination returns the cluster with a name or address. Its server identifies it: a
// destination that has no Secret is both name and server.
func (r *argoReader) destination(name string) *destination {
	for _, d := range r.destinations {
		if d.name == name || d.server == strings.TrimSuffix(name, "/") {
			return d
		}
	}
	if name == inCluster {
		name = inClusterName
	}
	if name == inClusterName {
		if i := slices.IndexFunc(r.destinations, func(d *destination) bool { return d.server == inCluster }); i >= 0 {
			return r.destinations[i]
		}
		return &destination{name: name, server: inCluster}
	}
	return &destination{name: name, server: name}
}

// destinationOf returns the destination of an Application.
func (r *argoReader) destinationOf(a *app) *destination {
	return r.destination(cmp.Or(textAt(a.content, "spec", "destination", "name"), textAt(a.content, "spec", "destination", "server"), inCluster))
}

// cluster returns the cluster of an Application's destination; nil for a destination that
// is not imported.
func (r *argoReader) cluster(a *app) (*Cluster, error) {
	d := r.destinationOf(a)
	if c := r.clusters[d.server]; c != nil {
		return c, nil
	}
	id := ""
	for _, c := range r.opts.Clusters {
		if r.destination(c.Source).server == d.server {
			id = c.ID
		}
	}
	if id == "" && len(r.opts.Clusters) > 0 {
		reason := "its destination " + d.name + " is not a cluster of the import"
		r.note(a, []string{"spec", "destination"}, reason+": add --cluster ID="+d.name)
		r.model.Dropped = append(r.model.Dropped, r.leftOut(a, reason))
		return nil, nil
	}
	if id == "" {
		id = clusterID(d.name)
		others := diag.Each(sortedKeys(r.clusters), func(server string) ClusterSource { return ClusterSource{ID: r.clusters[server].ID} })
		if err := checkNewID(id, others); err != nil {
			return nil, r.fault(diag.CodeImportCluster, a, []string{"spec", "destination"}, diag.All(err)[0].Msg, "give each destination an ID: --cluster ID=NAME")
		}
	}
	c := &Cluster{ID: id, Kubernetes: r.opts.Kubernetes, Facts: map[string]string{}, Labels: map[string]string{}}
	maps.Copy(c.Labels, d.labels)
	maps.DeleteFunc(c.Labels, func(key, _ string) bool { return strings.HasPrefix(key, labelPrefix) })
	for key, value := range d.annotations {
		if variable.MatchString(key) {
			c.Facts[key] = value
		}
	}
	r.clusters[d.server] = c
	return c, nil
}

// variable matches the annotations that become facts.
var variable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// clusterID returns an ID for the name or address of a destination.
func clusterID(name string) string {
	return cmp.Or(IDOf(strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")), "cluster")
}
