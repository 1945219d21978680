package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Shard is one of several parts of a fleet, each for a machine of its own. A
// cluster is in the one that the sha256 of its ID says, whichever others there
// are: one that comes or goes moves none. The zero value has all clusters.
type Shard struct {
	Number int // from 1
	Of     int // how many there are; 0 for no parts
}

// maxShards is more than anybody has machines for.
const maxShards = 10_000

// ParseShard reads a shard as 2/8 is one: the second of eight. The error is a
// fault.
func ParseShard(text string) (Shard, error) {
	number, of, ok := strings.Cut(text, "/")
	var s Shard
	var err error
	if ok {
		s.Number, err = strconv.Atoi(number)
	}
	if ok && err == nil {
		s.Of, err = strconv.Atoi(of)
	}
	switch {
	case !ok || err != nil || s.String() != text:
		return Shard{}, &diag.Diag{Msg: fmt.Sprintf("%q is no shard", diag.Visible(text, diag.MaxText)), Hint: "write it as in 1/4, the first of four", Cause: err}
	case s.Of < 1 || s.Of > maxShards:
		return Shard{}, &diag.Diag{Msg: fmt.Sprintf("a fleet has no %d shards", s.Of), Hint: fmt.Sprintf("divide it into 1 to %d", maxShards)}
	case s.Number < 1 || s.Number > s.Of:
		return Shard{}, &diag.Diag{Msg: fmt.Sprintf("there is no shard %d of %d", s.Number, s.Of), Hint: fmt.Sprintf("count from 1/%d to %d/%d", s.Of, s.Of, s.Of)}
	}
	return s, nil
}

// String returns the text that [ParseShard] reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Has reports whether the cluster with the given ID, which need not be there
// any more, is in the shard.
func (s Shard) Has(id string) bool {
	if s.Of == 0 {
		return true
	}
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint64(sum[:8])%uint64(s.Of)) == s.Number-1
}
