import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const core = fileURLToPath(new URL('../../../core', import.meta.url))

/** A plugin of one build rejects a call to a gateway of the other build, like a CommonJS plugin in an ESM application. */
const script = (gatewayOf: string, pluginOf: string): string => `
  import { createRequire } from 'node:module'
  const builds = {
    esm: await import(${JSON.stringify(`${core}/dist/index.js`)}),
    cjs: createRequire(${JSON.stringify(`${core}/package.json`)})('./dist/index.cjs'),
  }
  const { createGateway, openai } = builds.${gatewayOf}
  const { GatewayError } = builds.${pluginOf}
  if (GatewayError === builds.${gatewayOf}.GatewayError) throw new Error('the builds are one copy')
  const gateway = createGateway({
    auth: 'none',
    upstreams: { one: openai({ apiKey: 'k' }) },
    models: { m: 'one' },
    plugins: [{ name: 'limits', admit() { throw new GatewayError('rate_limited', 'Too many calls.', { retryAfter: 7 }) } }],
    logger: false,
  })
  const response = await gateway.fetch('http://gateway/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
  })
  console.log(JSON.stringify([response.status, response.headers.get('retry-after'), (await response.json()).error.message]))`

/** An adapter of one build serves a gateway of the other build. */
const adapterScript = (gatewayOf: string, adapterOf: string): string => `
  import { createRequire } from 'node:module'
  const core = createRequire(${JSON.stringify(`${core}/package.json`)})
  const builds = {
    esm: { ...await import(${JSON.stringify(`${core}/dist/index.js`)}), ...await import(${JSON.stringify(`${core}/dist/adapter.js`)}) },
    cjs: { ...core('./dist/index.cjs'), ...core('./dist/adapter.cjs') },
  }
  const { createGateway, openai } = builds.${gatewayOf}
  const { adapterFunctions } = builds.${adapterOf}
  if (adapterFunctions === builds.${gatewayOf}.adapterFunctions) throw new Error('the builds are one copy')
  const gateway = createGateway({
    auth: 'none',
    upstreams: { one: openai({ apiKey: 'k' }) },
    models: { m: 'one' },
    logger: false,
  })
  console.log(JSON.stringify(adapterFunctions(gateway).match('GET', '/v1/models').route.operation))`

it.each([
  ['CommonJS', 'ESM', adapterScript('esm', 'cjs')],
  ['ESM', 'CommonJS', adapterScript('cjs', 'esm')],
])('an adapter of the %s build serves a gateway of the %s build', (_, __, text) => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8' })
  expect(JSON.parse(output)).toBe('list-models')
})

it.each([
  ['ESM', 'CommonJS', script('esm', 'cjs')],
  ['CommonJS', 'ESM', script('cjs', 'esm')],
])('a gateway of the %s build sends the error that a plugin of the %s build throws', (_, __, text) => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8' })
  expect(JSON.parse(output)).toEqual([429, '7', 'Too many calls.'])
})
