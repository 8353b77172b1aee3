import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Json } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import { createFakeProvider } from '../index.ts'
import { requestTo } from '../provider/requests.test-support.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url))
const folder = join(shared, 'fixtures')
const present = existsSync(join(folder, 'INDEX.tsv'))
if (!present) console.log('services.test.ts: skipped, no recorded traffic at ../shared (set MODELGATE_SHARED)')

const formats = ['completions', 'embeddings', 'gemini-embeddings', 'images', 'rerank']
const vendors = ['openai', 'google', 'vertex', 'cohere']
/** Rejected for reasons that an offline provider cannot know: existing models, contents of URLs. */
const knownElsewhere = /model_not_found|does not exist|downloading file|Invalid image data/

interface Recorded {
  readonly name: string
  readonly path: string
  readonly body: Json
  readonly status: number
  readonly answer: string
}

function* recorded(): Generator<Recorded> {
  const [head = '', ...lines] = readFileSync(join(folder, 'INDEX.tsv'), 'utf8').split('\n')
  const columns = head.split('\t')
  for (const line of lines) {
    const cells = line.split('\t')
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? ''
    if (!formats.includes(cell('format')) || !vendors.includes(cell('vendor'))) continue
    const { request, response } = JSON.parse(readFileSync(join(folder, cell('path')), 'utf8'))
    if (!isObject(request.body)) continue
    const path = request.url.replace(/^https?:\/\/[^/]*/, '').replace(/\bkey=[^&]*/, '')
    yield {
      name: cell('path'),
      path,
      body: request.body,
      status: Number(cell('status')),
      answer: JSON.stringify(response.body),
    }
  }
}

describe.skipIf(!present)('recorded requests of operations other than generation', () => {
  it('are accepted and rejected as by the real providers', async () => {
    const strange: string[] = []
    let count = 0
    for (const { name, path, body, status, answer } of recorded()) {
      if (status >= 400 && knownElsewhere.test(answer)) continue
      count++
      const response = await createFakeProvider().fetch(requestTo(path, JSON.stringify(body)))
      const own = await response.text()
      if (response.status !== status) strange.push(`${name} ${status} ${response.status} ${own.slice(0, 300)}`)
    }
    expect(strange).toEqual([])
    expect(count).toBeGreaterThan(120)
  })
})
