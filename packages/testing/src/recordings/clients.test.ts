import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../index.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url))
const folder = join(shared, 'client-requests')
const present = existsSync(folder)
if (!present) console.log('clients.test.ts: skipped, no recorded clients at ../shared (set MODELGATE_SHARED)')

/** Paths that the fake serves; others return 404. */
const spoken =
  /^\/(v1|v1beta|v1beta1)(\/publishers\/google)?\/(chat\/completions|messages(\/count_tokens)?|responses(\/input_tokens)?|models\/.*:(streamGenerateContent|generateContent|countTokens))(\?|$)/
/** Errors about state of the recorded upstream, and about values that no real provider accepts either. */
const refused =
  /Invalid `signature`|Corrupted thought signature|could not be verified|Previous response with id|Item with id '.*' not found|thread: this endpoint/

describe.skipIf(!present)('recorded requests of real clients', () => {
  const files = present ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []

  it('are accepted and rejected as by the real providers', async () => {
    const strange: string[] = []
    let used = 0
    for (const file of files) {
      for (const { method, url, headers, body } of JSON.parse(readFileSync(join(folder, file), 'utf8')).requests) {
        if (method !== 'POST' || !spoken.test(url)) continue
        const request = new Request(`http://fake.invalid${url}`, {
          method,
          headers: headersOf(headers),
          body: typeof body === 'string' ? body : JSON.stringify(body),
        })
        const response = await createFakeProvider().fetch(request)
        const answer = await response.text()
        if (response.status === 200) used++
        else if (!refused.test(answer)) strange.push(`${file} ${url} ${response.status} ${answer.slice(0, 400)}`)
      }
    }
    expect(strange).toEqual([])
    expect(used).toBeGreaterThan(200)
  })
})

/** Headers chosen by the client; long values were cut with a character that headers cannot contain. */
function headersOf(pairs: readonly [name: string, value: string][]): Headers {
  const headers = new Headers()
  for (const [name, value] of pairs) {
    if (/^(host|connection|content-length|content-encoding|transfer-encoding|expect)$/i.test(name)) continue
    headers.append(name, value.replace(/[^ -~]/g, ''))
  }
  return headers
}
