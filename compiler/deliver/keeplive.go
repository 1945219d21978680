package deliver

import (
	"context"
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// Keep makes random fields with keep have the values in the clusters. Without a connection,
// a cluster's fields are as rendered.
func (s Servers) Keep(f *compiler.Fleet) {
	f.Keep = func(ctx context.Context, c *fleet.Cluster) render.Keeper {
		if one := s.Of(c.ID); one.Live != nil {
			return keepLive(ctx, one)
		}
		return nil
	}
}

// keepLive returns a keeper of the values in a cluster. It also reads objects that another
// tool created, so that a password in use is never replaced.
func keepLive(ctx context.Context, s Server) render.Keeper {
	return func(o fleet.Object, field []string) (any, bool, error) {
		live, err := s.read(ctx, o.Unstructured)
		if err != nil {
			return nil, false, &diag.Diag{
				Code: diag.CodeAPIServer,
				At:   []diag.Pos{o.Release.Pos}, Path: o.Release.Path("random"),
				Msg:  fmt.Sprintf("%s cannot be read to keep its %s: %s", o.Title(), fleet.FieldText(field), err),
				Hint: diag.All(err)[0].Hint, Cause: &cluster.UnreadableError{Err: err},
			}
		}
		if live == nil {
			return nil, false, nil
		}
		v, ok := fleet.Lookup(live.Object, kube.FieldBefore(live.Object, o.Object, field))
		if !ok {
			v, ok = liveStringData(o, live.Object, field)
		}
		return v, ok, nil
	}
}

// read reads an object from the cluster; nil if it does not exist. With ReadOnly, it also
// returns nil if the user is not allowed to read the object: the comparison reports that.
func (s Server) read(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := s.Live.Object(ctx, cluster.RefOf(o))
	if s.ReadOnly && cluster.ReasonOf(err) == cluster.Forbidden {
		return nil, nil
	}
	return live, err
}

// liveStringData returns the live value of a field in a Secret's stringData, which the API
// server stores in data.
func liveStringData(o fleet.Object, live map[string]any, field []string) (any, bool) {
	if o.GroupVersionKind().GroupKind().String() != "Secret" || field[0] != "stringData" {
		return nil, false
	}
	data, _ := live["data"].(map[string]any)
	decode := func(v any) (any, bool) {
		text, _ := v.(string)
		plain, err := base64.StdEncoding.DecodeString(text)
		return string(plain), err == nil
	}
	if len(field) == 2 {
		v, ok := data[field[1]]
		if !ok {
			return nil, false
		}
		return decode(v)
	}
	// All of stringData: only the keys that are rendered, not those that others added.
	rendered, _ := o.Object["stringData"].(map[string]any)
	out := map[string]any{}
	for k, v := range rendered {
		out[k] = v
		if value, ok := decode(data[k]); ok && data[k] != nil {
			out[k] = value
		}
	}
	return out, len(rendered) > 0 && len(field) == 1
}

// NewSecretReader returns a reader of live secrets in the cluster of a connection.
func NewSecretReader(s Server) SecretReader {
	return func(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		live, err := s.read(ctx, o)
		if err != nil {
			return nil, &cluster.UnreadableError{Err: err}
		}
		return live, nil
	}
}
