// The documentation site. `npm run docs` serves it, `npm run docs:build` builds it. VitePress is installed into a cache folder, so this
// file imports nothing of it.
import { anchorsFor } from '../../packages/repo-tools/src/documentation/anchors.ts'
import { adaptMarkdown } from '../../packages/repo-tools/src/site/markdown.ts'
import { addressOf, excludedPages, repositoryURL } from '../../packages/repo-tools/src/site/page-links.ts'
import { searchOptions } from '../../packages/repo-tools/src/site/search.ts'
import { sidebar } from './sidebar.ts'

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M6 27V13a10 10 0 0 1 20 0v14" fill="none" stroke="#3451b2" stroke-width="4" stroke-linecap="round"/><path d="M16 27V13" stroke="#3451b2" stroke-width="4" stroke-linecap="round"/></svg>'

export default {
  title: 'Modelgate',
  description: 'OpenAI-, Anthropic- and Gemini-compatible endpoints for your app.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcExclude: excludedPages,
  rewrites: addressOf,
  // Addresses of the reader's own gateway.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // The default themes have comments and keywords with too little contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The same anchors as on GitHub; VitePress numbers repeated ones in the same way.
    anchor: { slugify: (heading: string) => anchorsFor([heading])[0] ?? '' },
    config: adaptMarkdown,
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/quick-start', activeMatch: '^/guide/' },
      { text: 'Recipes', link: '/recipes/', activeMatch: '^/recipes/' },
      { text: 'Reference', link: '/reference/endpoints', activeMatch: '^/reference/' },
      { text: 'Operate', link: '/operate/deploying', activeMatch: '^/operate/' },
      { text: 'Internals', link: '/architecture', activeMatch: '^/(internals|decisions|architecture)' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: { searchOptions } } },
    ...(repositoryURL === undefined
      ? {}
      : {
          editLink: { pattern: `${repositoryURL}/edit/main/docs/:path`, text: 'Edit this page' },
          socialLinks: [{ icon: 'github', link: repositoryURL }],
        }),
  },
}
