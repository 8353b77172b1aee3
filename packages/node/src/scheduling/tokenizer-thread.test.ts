import { createGateway, openaiCompatible } from '@modelgate/core'
import { expect, it, vi } from 'vitest'
import { nodeListener } from '../server/handler.ts'
import { serve } from '../testing/server.ts'
import { countTokensInThread } from './tokenizer-thread.ts'

// The tokenizer cannot be loaded in the main thread, so a count with it must come from another thread.
vi.mock('gpt-tokenizer/encoding/o200k_base', () => {
  throw new Error('the tokenizer was loaded into the main thread')
})

it('counts tokens in another thread for an upstream that cannot count', async () => {
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openaiCompatible({ baseURL: 'http://up.test/v1' }) },
    models: { m: 'up' },
    logger: false,
  })
  const { url } = await serve(nodeListener(gateway))
  const count = async (content: string) => {
    const response = await fetch(`${url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
    })
    const { input_tokens: tokens } = (await response.json()) as { input_tokens: number }
    return { tokens, estimate: response.headers.get('modelgate-estimate') }
  }
  const [short, long] = [await count('hello'), await count('hello world '.repeat(10_000))]
  expect([short.estimate, long.estimate]).toEqual(['tokens;by="o200k_base"', 'tokens;by="o200k_base"'])
  // Two tokens for each repetition.
  expect(Math.abs(long.tokens - short.tokens - 20_000)).toBeLessThan(20)
  await gateway.close()
})

it('counts special tokens as text and serves concurrent counts', async () => {
  const counts = await Promise.all([
    countTokensInThread(['<|endoftext|>']),
    countTokensInThread(['hello', ' world']),
    countTokensInThread([]),
  ])
  expect(counts[0]).toBeGreaterThan(3)
  expect(counts.slice(1)).toEqual([2, 0])
})
