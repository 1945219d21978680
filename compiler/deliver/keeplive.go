package deliver

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// UnreadableError is the cause of a fault about a value that must be kept and cannot be
// read from its cluster. It concerns this cluster and not the fleet.
type UnreadableError struct{ error }

// Unwrap returns what keeps it from being read.
func (u *UnreadableError) Unwrap() error { return u.error }

// Keep gives fields of the fleet the values that they have in the clusters. A cluster
// without a connection keeps none.
func (s Servers) Keep(f *compiler.Fleet) {
	f.Keep = func(ctx context.Context, cluster string) compiler.Keeper {
		if one := s.Of(cluster); one.Live != nil {
			return keepLive(ctx, one)
		}
		return nil
	}
}

// keepLive returns a keeper of the values that objects have in a cluster. It reads
// them by name, also of objects that another tool created: a password in use is never
// replaced by another random one.
func keepLive(ctx context.Context, s Server) compiler.Keeper {
	return func(o fleet.Object, field []string) (any, bool, error) {
		is, err := s.Live.Object(ctx, cluster.RefOf(o.Unstructured))
		if s.ReadOnly && cluster.ReasonOf(err) == cluster.Forbidden {
			return nil, false, nil // comparing tells that it may not be read
		}
		if err != nil {
			return nil, false, &diag.Diag{
				At: []diag.Pos{o.Release.Pos}, Path: o.Release.Path("random"),
				Msg: fmt.Sprintf("%s cannot be read to keep its %s: %s", o.Title(), fleet.FieldText(field), err), Cause: &UnreadableError{err},
			}
		}
		if is == nil {
			return nil, false, nil
		}
		v, ok := fleet.Lookup(is.Object, field)
		if !ok {
			v, ok = stored(o, is.Object, field)
		}
		return v, ok, nil
	}
}

// stored returns what an object in a cluster has of a Secret's stringData, which
// is stored as data.
func stored(o fleet.Object, is map[string]any, field []string) (any, bool) {
	if o.GroupVersionKind().GroupKind().String() != "Secret" || field[0] != "stringData" {
		return nil, false
	}
	data, _ := is["data"].(map[string]any)
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
	// All of stringData: of what is rendered, not of what others have added.
	rendered, _ := o.Object["stringData"].(map[string]any)
	out := map[string]any{}
	for k, v := range rendered {
		out[k] = v
		if kept, ok := decode(data[k]); ok && data[k] != nil {
			out[k] = kept
		}
	}
	return out, len(rendered) > 0 && len(field) == 1
}
