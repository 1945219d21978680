package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Limits of the documents that the schemas of one chart reference.
const (
	maxSchema  = 16 << 20 // bytes of one document
	maxSchemas = 100      // documents
)

// checkSchemaURL checks the URL of a document that a schema references. The chart
// chooses the URL, so the request has no credentials.
func checkSchemaURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || strings.ContainsAny(raw, " \n") {
		return fault(diag.CodeSchemaDocument, fleet.SchemaHint, "the URL of a schema is invalid")
	}
	if u.Scheme != "https" {
		return fault(diag.CodeSchemaDocument, fleet.SchemaHint, "fleetc fetches schemas only from URLs that begin with https://")
	}
	if err := checkURL(raw, "leave them out", "https"); err != nil {
		return err
	}
	if u.Path == "" {
		return fault(diag.CodeSchemaDocument, fleet.SchemaHint, "the URL %q names no document", raw)
	}
	return nil
}

// PinSchemas downloads the documents that the values.schema.json of a chart
// references, and returns ref with their digests. When a download fails, it uses the
// digest of an earlier pin, by URL, if the document is still available. It also
// returns the other URLs that failed, and the fault of the first.
func (s *Source) PinSchemas(ctx context.Context, ref fleet.ChartRef, urls []string, earlier map[string]string) (pinned fleet.ChartRef, left []string, err error) {
	digests := maps.Collect(ref.Schemas.All())
	var faults diag.List
	for _, at := range urls {
		digest, err := s.pinSchema(ctx, ref, at, len(digests))
		if ctx.Err() != nil {
			return ref, nil, ctx.Err()
		}
		if err != nil && earlier[at] != "" && s.has(ctx, s.schema(ref, at, earlier[at])) {
			digest, err = earlier[at], nil
		}
		if err != nil {
			faults.Add(err)
			left = append(left, at)
			continue
		}
		digests[at] = digest
	}
	if len(faults) > 0 {
		err = faults[0]
	}
	ref.Schemas = fleet.NewDigests(digests)
	return ref, left, err
}

// pinSchema downloads one document into the store and returns its digest.
func (s *Source) pinSchema(ctx context.Context, ref fleet.ChartRef, at string, pinned int) (string, error) {
	if err := checkSchemaURL(at); err != nil {
		return "", err
	}
	if pinned >= maxSchemas {
		return "", fault(diag.CodeSchemaDocument, "use another version of the chart", "%s: its schema refers to more than %d documents", ref, maxSchemas)
	}
	if s.Offline {
		return "", fault(diag.CodeFlagCombination, "run the command again without --offline", "%s: the network is off", at)
	}
	data, err := s.getSchema(ctx, ref, at)
	if err != nil {
		return "", err
	}
	st, err := s.store()
	if err != nil {
		return "", err
	}
	return digest(data), st.write(digest(data), data)
}

// getSchema downloads a document. It sends credentials of the chart's repository
// only to that repository.
func (s *Source) getSchema(ctx context.Context, ref fleet.ChartRef, at string) ([]byte, error) {
	repo := at
	if ref.Repo != "" && !isOCI(ref.Repo) {
		repo = ref.Repo
	}
	data, err := bounded(ctx, at, func(ctx context.Context) ([]byte, error) { return s.get(ctx, repo, at, maxSchema, otherURL) })
	if err != nil {
		return nil, err
	}
	if !json.Valid(bytes.TrimPrefix(data, []byte(bom))) {
		return nil, fault(diag.CodeSchemaDocument, "use another version of the chart, or ask the owner of the document to correct it", "%s is not JSON", at)
	}
	return data, nil
}

// schemas returns the pinned documents of a chart from the fleet's repository, the
// store or the network.
func (s *Source) schemas(ctx context.Context, ref fleet.ChartRef) ([]fleet.File, error) {
	var files []fleet.File
	for at, want := range ref.Schemas.All() {
		data, err := s.read(ctx, s.schema(ref, at, want))
		if err != nil {
			return nil, err
		}
		files = append(files, fleet.File{Name: at, Data: data})
	}
	return files, nil
}

// schema returns a document to which the schema of a chart refers.
func (s *Source) schema(ref fleet.ChartRef, at, want string) pinnedFile {
	return pinnedFile{
		name: schemaName(at, want), kind: "document", of: at, digest: want,
		download: func(ctx context.Context) ([]byte, error) { return s.getSchema(ctx, ref, at) },
		missing: func(state) error {
			return fault(diag.CodeNotInStore, "run fleetc vet once with the network", "%s, a schema of %s, is not in the chart store, and the network is off", at, ref)
		},
		changed: func(got string) error {
			return fault(diag.CodeDigestMismatch, "the document was changed: check it, then run "+addCommand(ref),
				"%s has the digest %s, the pin of %s says %s", at, got, ref, want)
		},
	}
}

// schemaName returns the path of a pinned document in the fleet's repository.
func schemaName(at, digest string) string {
	const short = 12
	base := strings.TrimSuffix(path.Base(at), ".json")
	return fmt.Sprintf("%s/%s-%s.json", vendor, notInName.ReplaceAllString(base, "_"), strings.TrimPrefix(digest, "sha256:")[:short])
}
