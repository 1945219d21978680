// The configuration of VitePress. The builder, testdata/site, puts the pages beside this directory,
// and writes site.json: the version, the address and the navigation.
import { readFileSync } from 'node:fs'

const site = JSON.parse(readFileSync(new URL('./site.json', import.meta.url), 'utf8'))
const repository = 'https://github.com/fleetc/fleetc'

// slugify derives anchors from headings as GitHub does, so that links work in both places.
function slugify(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

export default {
  title: 'fleetc',
  description: 'A configuration compiler for fleets of Kubernetes clusters',
  lang: 'en',
  base: site.base,
  outDir: './out',
  // With more, the order of the search index is nondeterministic.
  buildConcurrency: 1,
  // The builder checks links to pages, files and anchors in the finished site.
  ignoreDeadLinks: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    html: false, // <NAME> in a page is text
    anchor: { slugify },
    config(md) {
      // Vue replaces {{ }} in text; the pages show templates of Helm.
      for (const rule of ['text', 'code_inline']) {
        const render = md.renderer.rules[rule]
        md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
      }
      // Screen readers read a header without text as a header of nothing.
      md.core.ruler.push('empty_header', ({ tokens }) => {
        tokens.forEach((token, i) => {
          if (token.type === 'th_open' && tokens[i + 1].content === '') token.tag = tokens[i + 2].tag = 'td'
        })
      })
    }
  },
  themeConfig: {
    siteTitle: 'fleetc',
    nav: site.groups
      .map(({ text, link, pages }) => ({ text, link, activeMatch: `^/(${pages.join('|').replace('index', '')})$` }))
      .concat({ text: site.version, items: site.versions }),
    sidebar: site.sections.map(({ text, items }) => ({ text, items })),
    outline: { level: [2, 3], label: 'On this page' },
    search: {
      provider: 'local',
      options: {
        // The changelog names everything, and would hide the pages that explain it.
        _render: (text, env, md) => (env.relativePath === 'changelog.md' ? '' : md.render(text, env))
      }
    },
    socialLinks: [{ icon: 'github', link: repository, ariaLabel: 'The repository' }],
    footer: { message: `fleetc ${site.version}, Apache-2.0` }
  }
}
