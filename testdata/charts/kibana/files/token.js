const fs = require('fs');
const https = require('https');
const auth = Buffer.from(`${process.env.ELASTICSEARCH_USERNAME}:${process.env.ELASTICSEARCH_PASSWORD}`).toString('base64');
const url = new URL(`/_security/service/elastic/kibana/credential/token/${process.env.TOKEN_NAME}`, process.env.ELASTICSEARCH_HOSTS);
const request = (url.protocol === 'https:' ? https : require('http')).request(url, {
  method: '{{ .method }}',
  headers: {Authorization: `Basic ${auth}`},
}, (answer) => {
  let body = '';
  answer.on('data', (chunk) => { body += chunk; });
  answer.on('end', () => {
    if (answer.statusCode >= 300 && answer.statusCode !== 404) {
      process.exit(1);
    }
{{- if eq .method "PUT" }}
    const token = JSON.parse(body).token.value;
    const root = '/var/run/secrets/kubernetes.io/serviceaccount';
    const namespace = fs.readFileSync(`${root}/namespace`, 'utf8');
    const secret = {
      apiVersion: 'v1', kind: 'Secret', metadata: {name: `${process.env.TOKEN_NAME}-token`},
      data: {token: Buffer.from(token).toString('base64')},
    };
    const write = https.request(`https://kubernetes.default.svc/api/v1/namespaces/${namespace}/secrets`, {
      method: 'POST', ca: fs.readFileSync(`${root}/ca.crt`),
      headers: {Authorization: `Bearer ${fs.readFileSync(`${root}/token`, 'utf8')}`, 'Content-Type': 'application/json'},
    }, (done) => process.exit(done.statusCode < 300 ? 0 : 1));
    write.end(JSON.stringify(secret));
{{- end }}
  });
});
request.on('error', () => process.exit(1));
request.end();
