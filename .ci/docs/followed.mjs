/** Pages that stranger.mjs follows with packed packages. */
export const followed = [
  'README.md',
  'docs/getting-started/express.md',
  'docs/getting-started/fastify.md',
  'docs/getting-started/hono.md',
  'docs/getting-started/node.md',
  'docs/getting-started/in-process.md',
  'docs/getting-started/server.md',
]
