import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { anthropic, cohere, createGateway, gemini, openai } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { expect, test } from 'vitest'

const folder = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url))
const document = join(folder, 'SPECIFICATION.md')
const found = existsSync(document)
if (!found) console.log(`specification: skipped, there is no ${document.split('/').at(-1)} next to the checkout`)

/** Rows of the document's endpoint table. */
const endpoints = (found ? readFileSync(document, 'utf8') : '')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .flatMap(([, name = '', method = '', path = '']) =>
    /^(GET|POST)$/.test(method) && path.startsWith('/') ? [{ name, method, path: path.split('?')[0] ?? '' }] : [],
  )

const gateway = createGateway({
  auth: 'none',
  upstreams: { openai: openai(), claude: anthropic(), google: gemini(), cohere: cohere() },
  models: { '*': 'openai' },
  logger: false,
})

test.skipIf(!found)('reads the specification’s table of endpoints', () => {
  expect(endpoints.length).toBeGreaterThanOrEqual(13)
})

test.skipIf(!found).each(endpoints)('serves $method $path ($name)', async ({ method, path }) => {
  const requestPath = path.replace('{model}', 'some-model')
  const match = adapterFunctions(gateway).match(method, requestPath)
  expect(match).not.toBeNull()
  expect(match?.allow).toBeUndefined()
  // An unimplemented route would return an error.
  const response = await gateway.fetch(`http://gateway.test${requestPath}`, {
    method,
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    ...(method === 'POST' ? { body: '{}' } : {}),
  })
  expect([404, 405, 500, 501]).not.toContain(response.status)
})
