package clusters

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
)

// ServePods starts an HTTPS server that pods of the real nodes can reach, and returns its
// address. Pods have no DNS: their hostAliases give the address a name. The authority of
// the cluster has signed the server's certificate for any name. The server ends with the
// nodes.
func (c *Cluster) ServePods(port int, handler http.Handler) (address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.real) == 0 {
		return "", errors.New(c.Name + " has no real nodes")
	}
	n := c.real[0]
	l, err := net.Listen("tcp4", net.JoinHostPort(n.hostAddress(), strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	certs := &certificates{ca: c.ca, byName: map[string]*tls.Certificate{}}
	s := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)} // pods are killed while they connect
	n.servers = append(n.servers, s)
	go s.Serve(tls.NewListener(l, &tls.Config{GetCertificate: certs.get})) // until it is closed
	return n.hostAddress(), nil
}
