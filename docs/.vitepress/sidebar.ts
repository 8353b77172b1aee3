// The sidebar: add each new page of docs/ here, with a short title. A test compares both. Groups that collapse have a link: VitePress
// makes others a button with a button in it, which screen readers cannot use.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface SidebarItem {
  readonly text: string
  readonly link?: string
  readonly items?: readonly SidebarItem[]
  readonly collapsed?: boolean
}

const decisions = fileURLToPath(new URL('../decisions', import.meta.url))

/** Decisions are many and have uniform names, so they are listed from the folder. */
const decisionItems = readdirSync(decisions)
  .filter((file) => /^\d+-.*\.md$/.test(file))
  .sort()
  .map((file): SidebarItem => {
    const [, title = file] = /^# (.+)$/m.exec(readFileSync(`${decisions}/${file}`, 'utf8')) ?? []
    const [number] = file.split('-')
    return {
      text: `${number} ${title.replaceAll('`', '').replace(/^\d+\.? /, '')}`,
      link: `/decisions/${file.replace(/\.md$/, '')}`,
    }
  })

const page = (text: string, link: string): SidebarItem => ({ text, link })

export const sidebar: readonly SidebarItem[] = [
  {
    text: 'Guide',
    items: [
      page('Introduction', '/guide/introduction'),
      page('Quick start', '/guide/quick-start'),
      page('Concepts', '/guide/concepts'),
      page('Frameworks', '/guide/frameworks'),
      page('Clients and SDKs', '/guide/clients'),
      page('Routing and fallback', '/guide/routing'),
      page('Retries and circuit breakers', '/guide/retries'),
      page('Load balancing', '/guide/load-balancing'),
      page('Model cards', '/guide/model-cards'),
      page('Authentication', '/guide/authentication'),
      page('Tokens, rate limits, budgets', '/guide/tokens'),
      page('Budgets of users and teams', '/guide/owner-budgets'),
      page('Prices and cost', '/guide/prices'),
      page('Ledger (call log)', '/guide/ledger'),
      page('Streaming', '/guide/streaming'),
      page('Fidelity and losses', '/guide/fidelity'),
      page('Responses API', '/guide/responses'),
      page('Responses over WebSocket', '/guide/responses-websocket'),
      page('Compaction', '/guide/compaction'),
      page('Files and conversations', '/guide/files'),
      page('Realtime (WebSockets)', '/guide/realtime'),
      page('Media by URL', '/guide/media'),
      page('References to stored files', '/guide/references'),
      page('Plugins', '/guide/plugins'),
      page('Console', '/guide/console'),
      page('Playground', '/guide/playground'),
      page('Recent calls', '/guide/recent-calls'),
      page('Testing', '/guide/testing'),
    ],
  },
  {
    text: 'Recipes',
    link: '/recipes/',
    collapsed: true,
    items: [
      page('All recipes', '/recipes/'),
      page('Per-user budgets', '/recipes/budgets-per-user'),
      page('Fallback and hedging', '/recipes/fallback-and-hedging'),
      page('Claude Code and Codex', '/recipes/claude-code-and-codex'),
      page('Prompt caching', '/recipes/prompt-caching'),
      page('Log to a database', '/recipes/log-to-a-database'),
      page('Limits in Redis', '/recipes/redis-limits'),
      page('Your own provider', '/recipes/custom-provider'),
      page('Test without a network', '/recipes/test-without-network'),
      page('Migrate from LiteLLM', '/recipes/migrate-from-litellm'),
      page('Migrate from Portkey', '/recipes/migrate-from-portkey'),
      page('Migrate from OpenRouter', '/recipes/migrate-from-openrouter'),
    ],
  },
  {
    text: 'Reference',
    link: '/reference/configuration',
    collapsed: true,
    items: [
      page('Configuration', '/reference/configuration'),
      page('Endpoints', '/reference/endpoints'),
      page('Errors', '/reference/errors'),
      page('Headers', '/reference/headers'),
      page('Command line (CLI)', '/reference/cli'),
      page('Formats', '/reference/formats'),
      page('Upstreams and providers', '/reference/upstreams'),
      page('Admin API for tokens', '/reference/admin-api'),
      page('Budget rules', '/reference/budgets'),
      page('Fake provider', '/reference/fake-provider'),
      {
        text: 'API',
        link: '/reference/api/',
        collapsed: true,
        items: [
          page('Overview', '/reference/api/'),
          page('modelgate', '/reference/api/cli'),
          page('@modelgate/core', '/reference/api/core'),
          page('@modelgate/node', '/reference/api/node'),
          page('@modelgate/express', '/reference/api/express'),
          page('@modelgate/fastify', '/reference/api/fastify'),
          page('@modelgate/hono', '/reference/api/hono'),
          page('@modelgate/ai-sdk', '/reference/api/ai-sdk'),
          page('@modelgate/tokens', '/reference/api/tokens'),
          page('@modelgate/console', '/reference/api/console'),
          page('@modelgate/otel', '/reference/api/otel'),
          page('@modelgate/testing', '/reference/api/testing'),
          page('@modelgate/conformance', '/reference/api/conformance'),
        ],
      },
    ],
  },
  {
    text: 'Operate',
    link: '/operate/deploying',
    collapsed: true,
    items: [
      page('Deploying', '/operate/deploying'),
      page('All processor cores', '/operate/workers'),
      page('Capacity', '/scaling'),
      page('Observability', '/operate/observability'),
      page('Troubleshooting', '/operate/troubleshooting'),
      page('Security', '/operate/security'),
      page('Security guarantees', '/operate/security-guarantees'),
      page('Token storage', '/operate/token-storage'),
      page('Limits and timeouts', '/operate/limits'),
      page('Runtimes', '/operate/runtimes'),
    ],
  },
  {
    text: 'Internals',
    link: '/architecture',
    collapsed: true,
    items: [
      page('Architecture', '/architecture'),
      page('Performance', '/internals/performance'),
      page('Optimizations', '/internals/optimizations'),
      page('Conformance', '/internals/conformance'),
      page('Releasing', '/internals/releasing'),
      { text: 'Decisions', link: decisionItems[0]?.link ?? '', collapsed: true, items: decisionItems },
    ],
  },
]
