// Runs in a fresh process: prints the milliseconds to import a module; for core also to create a gateway, and to
// translate a first call, which loads further modules.
import process from 'node:process'

const [what = ''] = process.argv.slice(2)
const started = performance.now()
const loaded = await import(what)
if ('createGateway' in loaded) {
  const { anthropic, createGateway, gemini, openai } = loaded
  const apiKey = 'upstream-key'
  createGateway({
    auth: () => ({ id: 'bench' }),
    upstreams: { openai: openai({ apiKey }), claude: anthropic({ apiKey }), google: gemini({ apiKey }) },
    models: { 'gpt-*': 'openai', 'claude-*': 'claude', 'gemini-*': 'google' },
  })
}
const ready = performance.now() - started
let firstCall = 0
if ('createGateway' in loaded) {
  const [{ exchanges }, { callOf }] = await Promise.all([import('./exchanges.js'), import('./in-process.js')])
  const exchange = exchanges['chat → messages, JSON']
  if (exchange === undefined) throw new Error('the exchange is missing')
  const called = performance.now()
  // The check of the first response makes the call.
  await callOf(exchange)
  firstCall = performance.now() - called
}
process.stdout.write(JSON.stringify({ ready, firstCall }))
