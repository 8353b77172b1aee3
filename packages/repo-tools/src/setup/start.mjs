// `npm start`: runs the set-up, then `modelgate` with the example server's configuration in this process. package.json starts it with
// `exec` (and without `exec` in shells that lack it, such as on Windows): a shell in between would exit on npm's SIGTERM and leave the
// server running.
import './setup.mjs'

process.argv = [
  process.argv[0] ?? 'node',
  'packages/cli/bin/modelgate.js',
  'start',
  '--config',
  'examples/server/modelgate.config.js',
]
// Imported by URL: the file does not exist before the build.
await import(new URL('../../../cli/bin/modelgate.js', import.meta.url).href)
