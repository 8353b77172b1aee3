/**
 * Pages that `npm run stranger` follows with packed packages. `host` selects a tab of each code group; Bun, Deno and Workers do not run below
 * the preload that replaces providers.
 * @type {readonly { page: string, host?: string }[]}
 */
export const followed = [
  // Next.js takes three times as long as any other page: it starts first, beside the others.
  ...['Next.js', 'Express', 'Fastify', 'Hono', 'node:http', 'In process', 'Server'].map((host) => ({
    page: 'docs/guide/quick-start.md',
    host,
  })),
  { page: 'README.md' },
]
