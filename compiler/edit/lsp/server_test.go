package lsp

import (
	"context"
	"io"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

// A cancelled request has the error code of the protocol, which editors do not show.
func TestCancelledRequest(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	cancelled := handler.Map{"hover": handler.New(func(context.Context) error { return context.Canceled })}
	server := jrpc2.NewServer(cancelled, nil).Start(newFraming(in, out))
	defer server.Stop()
	client := jrpc2.NewClient(channel.LSP(fromServer, toServer), nil)
	_, err := client.Call(t.Context(), "hover", nil)
	if code := jrpc2.ErrorCode(err); code != -32800 {
		t.Errorf("%d: %v", code, err)
	}
}
