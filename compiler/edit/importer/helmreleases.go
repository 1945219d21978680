package importer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// HelmOptions select the releases of clusters to read.
type HelmOptions struct {
	Access       cluster.Access
	Clusters     []ClusterSource // at least one; each source is a context of the kubeconfig
	Namespaces   []string        // all if empty
	Repositories []string        // URLs of repositories in which charts are searched
	Kubernetes   string          // version of the clusters; theirs if empty
	Work         string          // directory for restored charts, which the import reads
	Charts       *chart.Source   // fetches charts
}

// A helmReader reads the releases of clusters.
type helmReader struct {
	HelmOptions
	model   *Model
	sources map[string]*ChartSource // by digest of the stored chart
}

// ReadHelmReleases reads the releases of live clusters from the records that Helm stores in
// them. It writes nothing there. The error holds the faults of all clusters.
//
// Helm stores the values of a release, the chart and the rendered objects. It does not
// store the files of a chart's dependencies, so such a chart must be found again: in a
// repository that has the same templates under the same version, or in a copy that the
// user gives. Other charts are restored from the record.
func ReadHelmReleases(ctx context.Context, opts HelmOptions) (*Model, error) {
	r := &helmReader{HelmOptions: opts, model: &Model{Tool: "helm"}, sources: map[string]*ChartSource{}}
	var faults diag.List
	read := par.Map(ctx, len(opts.Clusters), len(opts.Clusters), func(ctx context.Context, i int) (*liveReleases, error) {
		return readCluster(ctx, opts, opts.Clusters[i])
	})
	same := map[string]string{} // contexts by UID
	i := 0
	for l, err := range read {
		c := opts.Clusters[i]
		i++
		if err != nil {
			faults.Add(diag.In(c.ID, err))
			continue
		}
		if first := same[l.uid]; first != "" {
			faults.Add(&diag.Diag{Code: diag.CodeImportCluster, Msg: fmt.Sprintf("the contexts %s and %s lead to the same cluster", first, c.Source), Hint: "leave one of them out"})
			continue
		}
		same[l.uid] = c.Source
		out, err := r.cluster(ctx, c, l)
		if err != nil {
			return nil, err
		}
		r.model.Clusters = append(r.model.Clusters, out)
	}
	return r.model, cmp.Or(ctx.Err(), faults.Err())
}

// liveReleases are the releases of a cluster with its version and identity.
type liveReleases struct {
	kubernetes string
	uid        string
	releases   []cluster.StoredHelmRelease
}

// readCluster reads the releases of one cluster.
func readCluster(ctx context.Context, opts HelmOptions, c ClusterSource) (*liveReleases, error) {
	conn, err := cluster.Connect(ctx, cluster.Address{Access: opts.Access, Context: c.Source})
	if err != nil {
		return nil, err
	}
	out := &liveReleases{kubernetes: opts.Kubernetes, uid: conn.UID}
	if out.kubernetes == "" {
		if out.kubernetes, err = conn.KubernetesVersion(ctx); err != nil {
			return nil, err
		}
		if err := kube.CheckVersion(out.kubernetes); err != nil {
			return nil, diag.Changed(err, func(d *diag.Diag) { d.Hint += " with --kubernetes" })
		}
	}
	namespaces := opts.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		for _, storage := range []cluster.HelmStorage{cluster.HelmSecrets, cluster.HelmConfigMaps} {
			found, err := storage.Deployed(ctx, conn, namespace)
			if err != nil {
				return nil, err
			}
			out.releases = append(out.releases, found...)
		}
	}
	return out, nil
}

// cluster returns the model of a cluster.
func (r *helmReader) cluster(ctx context.Context, c ClusterSource, l *liveReleases) (*Cluster, error) {
	out := &Cluster{ID: c.ID, ApplyOnly: true, Context: c.Source, UID: l.uid, Kubernetes: l.kubernetes, Facts: map[string]string{}}
	names := map[string]int{}
	for _, d := range l.releases {
		names[nameOf(d.Name)]++
	}
	for i := range l.releases {
		d := &l.releases[i]
		title := "HelmRelease " + d.Namespace + "/" + d.Name
		note := func(do string) {
			r.model.Note(Note{Doc: title, Field: d.Namespace + "/" + d.Name, Do: do})
		}
		switch {
		case d.FromFleetc:
			note("fleetc delivers it already")
			continue
		case !d.IsDeployed():
			note("its last revision is " + d.Status + ": install it, or write the release by hand")
			continue
		}
		r.model.Documents++
		release := &Release{
			Name: nameOf(d.Name), Namespace: d.Namespace, Origin: title, Values: nodeOf(d.Values, nil),
			Stored: d.Objects,
		}
		if release.Name != d.Name {
			release.Unproven = "Helm calls this release " + d.Name
		}
		if names[nameOf(d.Name)] > 1 {
			release.Name = shortenedName(d.Namespace + "-" + release.Name)
			release.Unproven = "another release has this name, and Helm calls this one " + d.Name
		}
		base := release.Name
		for n := 2; slices.ContainsFunc(out.Releases, func(o *Release) bool { return o.Name == release.Name }); n++ {
			release.Name = fmt.Sprintf("%s-%d", base, n)
		}
		if release.Name != d.Name {
			note("the release is called " + release.Name + " in the fleet, because names are unique in a cluster and have no dots: objects that are named after the release get other names")
		}
		r.noteSecrets(title, d)
		source, err := r.source(ctx, d)
		if err != nil {
			return nil, err
		}
		release.Chart = source
		out.Releases = append(out.Releases, release)
	}
	return out, nil
}

// noteSecrets adds a note for each value of a release that a Secret has which Helm rendered: the fleet's files have it in plain text. helm upgrade --reuse-values
// also stores these values in the chart's values.yaml: noteSecrets removes them there.
func (r *helmReader) noteSecrets(title string, d *cluster.StoredHelmRelease) {
	isSecret := secretsOf(d.Objects)
	values := map[string]string{} // of secrets, by path
	note := func(path []string, do string) {
		r.model.Mistakes = append(r.model.Mistakes, Note{Doc: title, Field: strings.Join(path, "."), Do: do + ": keep it elsewhere, see docs/secrets.md"})
	}
	mapLeaves(d.Values, nil, func(path []string, leaf any) any {
		if text, ok := leaf.(string); ok && isSecret(text) {
			values[fleet.FieldText(path)] = text
			note(path, "a Secret has this value, which is readable in the fleet now")
		}
		return leaf
	})
	i := slices.IndexFunc(d.Chart.Files, func(f fleet.File) bool { return f.Name == "values.yaml" })
	var defaults map[string]any
	if len(values) == 0 || i < 0 || yaml.Unmarshal(d.Chart.Files[i].Data, &defaults) != nil {
		return
	}
	cleaned := mapLeaves(defaults, nil, func(path []string, leaf any) any {
		switch value := values[fleet.FieldText(path)]; {
		case value == "" || leaf == "" || leaf == nil:
		case leaf == value:
			return ""
		default:
			note(path, "the values.yaml of the stored chart has a different value here, which may be an earlier secret that helm upgrade --reuse-values stored")
		}
		return leaf
	})
	if text, err := yaml.Marshal(cleaned); err == nil {
		d.Chart.Files[i].Data = text
	}
}

// minSecretPart is the minimum number of bytes of a value that is searched in the texts of Secrets.
const minSecretPart = 4

// secretsOf returns a function that reports whether a value is secret: it is a whole text of a
// Secret, or a part of one and in no other object. Parts may be indented or escaped for a URL.
func secretsOf(objs []*unstructured.Unstructured) func(value string) bool {
	whole := map[string]bool{}
	var secret, others strings.Builder
	joined := func(text string) string { return strings.Join(strings.Fields(text), "") }
	for _, o := range objs {
		content := copyMap(o.Object)
		if o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" {
			data, _ := stringData(content)
			for _, text := range data {
				whole[text] = true
				secret.WriteString(joined(text) + "\n")
			}
			delete(content, "data")
			delete(content, "stringData")
		}
		mapLeaves(content, nil, func(_ []string, leaf any) any {
			others.WriteString(joined(fmt.Sprint(leaf)) + "\n")
			return leaf
		})
	}
	return func(value string) bool {
		part := joined(value)
		isPart := func(text string) bool {
			return strings.Contains(secret.String(), text) && !strings.Contains(others.String(), text)
		}
		return value != "" && whole[value] || len(part) >= minSecretPart && (isPart(part) || isPart(url.QueryEscape(value)))
	}
}

// source returns where the chart of a release comes from: the first repository with the
// same content, or a directory restored from the record.
func (r *helmReader) source(ctx context.Context, d *cluster.StoredHelmRelease) (*ChartSource, error) {
	key := contentKey(d.Chart)
	if s := r.sources[key]; s != nil {
		return s, nil
	}
	s := &ChartSource{Name: d.Chart.Name, Version: d.Chart.Version, Content: key}
	for _, repo := range r.Repositories {
		same, err := r.isIn(ctx, repo, d.Chart)
		if err != nil {
			return nil, err
		}
		if same {
			s.Repo = repo
			break
		}
	}
	if s.Repo == "" && len(d.Chart.Dependencies) == 0 {
		var err error
		if s.Fallback, err = os.MkdirTemp(r.Work, "chart-"); err != nil {
			return nil, err
		}
		if err := writeTree(s.Fallback, d.Chart.Files); err != nil {
			return nil, err
		}
	}
	r.sources[key] = s
	return s, nil
}

// isIn reports whether a repository has the chart with the same templates.
func (r *helmReader) isIn(ctx context.Context, repo string, stored cluster.StoredHelmChart) (bool, error) {
	found, err := r.Charts.Resolve(ctx, request(&ChartSource{Repo: repo, Name: stored.Name, Version: stored.Version}))
	if err == nil && found.Version == stored.Version {
		var ch *fleet.Chart
		if ch, err = r.Charts.Chart(ctx, found.Ref); err == nil {
			return sameTemplates(ch.Files, stored.Files), nil
		}
	}
	return false, ctx.Err() // the chart is not in this repository
}

// sameTemplates reports whether a chart has all templates of a stored chart, unchanged,
// and no others.
func sameTemplates(files, stored []fleet.File) bool {
	templates := func(files []fleet.File) map[string][]byte {
		out := map[string][]byte{}
		for _, f := range files {
			if strings.HasPrefix(f.Name, "templates/") {
				out[f.Name] = f.Data
			}
		}
		return out
	}
	return maps.EqualFunc(templates(files), templates(stored), bytes.Equal)
}

// contentKey returns a digest of the content of a chart.
func contentKey(ch cluster.StoredHelmChart) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", ch.Name, ch.Version)
	for _, f := range ch.Files {
		fmt.Fprintf(h, "%q %d\n", f.Name, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
