package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Shard is a part of a fleet that one machine processes. The sha256 of its
// ID assigns a cluster to a shard, so that new and removed clusters do not
// move others. The zero value contains all clusters.
type Shard struct {
	Number int // starts at 1
	Of     int // number of shards; 0 for an undivided fleet
}

// maxShards limits the number of shards.
const maxShards = 10_000

// ParseShard parses a shard such as 2/8, the second of eight. 0/8 is the last one,
// so that numbers may also start at 0. The error is a fault.
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
		return Shard{}, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%q is not a valid shard", diag.Visible(text, diag.MaxText)), Hint: "write it as in 1/4, the first of four", Cause: err}
	case s.Of < 1 || s.Of > maxShards:
		return Shard{}, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("invalid number of shards: %d", s.Of), Hint: fmt.Sprintf("divide it into 1 to %d", maxShards)}
	case s.Number < 0 || s.Number > s.Of:
		return Shard{}, &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  fmt.Sprintf("invalid shard %d of %d", s.Number, s.Of),
			Hint: fmt.Sprintf("count from 1/%d to %d/%d, or from 0/%d to %d/%d", s.Of, s.Of, s.Of, s.Of, s.Of-1, s.Of),
		}
	case s.Number == 0:
		s.Number = s.Of
	}
	return s, nil
}

// String formats a shard for [ParseShard].
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Has reports whether the cluster with the given ID, which need not exist, is
// in the shard.
func (s Shard) Has(id string) bool {
	if s.Of == 0 {
		return true
	}
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint64(sum[:8])%uint64(s.Of)) == s.Number-1
}
