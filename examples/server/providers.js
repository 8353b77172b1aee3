import { anthropic, gemini, openai } from '@modelgate/core'

/**
 * @typedef {object} Provider
 * @property {string} name as the banner and the routes call it
 * @property {string} env what its environment variables begin with
 * @property {(options: import('@modelgate/core').UpstreamOptions) => import('@modelgate/core').Upstream} upstream
 * @property {readonly string[]} models the names that go there; those without a star are listed to clients
 */

/** The real upstreams: each is served when its key is set. @type {readonly Provider[]} */
export const providers = [
  {
    name: 'openai',
    env: 'OPENAI',
    upstream: openai,
    models: ['gpt-5', 'gpt-*', 'chatgpt-*', 'codex-*', 'o1*', 'o3*', 'o4*'],
  },
  { name: 'anthropic', env: 'ANTHROPIC', upstream: anthropic, models: ['claude-opus-5', 'claude-*'] },
  { name: 'gemini', env: 'GEMINI', upstream: gemini, models: ['gemini-3-flash', 'gemini-*'] },
]
