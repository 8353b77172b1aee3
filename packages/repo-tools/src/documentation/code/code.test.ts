import { redisProgram, startRedis, type TestRedis } from '@modelgate/tokens/test-support'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followed } from '../../stranger/followed-pages.mjs'
import { type Block, blocks, isCode, read } from '../pages.mjs'
import { complaints } from './compile.ts'
import { needsRedis, run, runs } from './run.ts'

/** `npm run stranger` runs the whole files of pages without tabs with packed packages. */
const byTheStranger = ({ page, file }: Block): boolean =>
  file !== undefined && followed.some((one) => one.page === page && one.host === undefined)

/** `recipes.test.ts` runs the programs of recipes together, because they call each other. */
const byRecipes = ({ page, file }: Block): boolean => file !== undefined && page.startsWith('docs/recipes/')

const block = (text: string, rest: Partial<Block> = {}): Block => ({
  place: 'here:1',
  page: 'here',
  language: 'ts',
  text,
  ...rest,
})

describe('code in the documentation', () => {
  const wrong = block("import { createGateway } from '@modelgate/core'\ncreateGateway({ auth: 'nobody' })\n")
  let reported: string[]
  beforeAll(() => {
    reported = complaints([...blocks, wrong])
  })

  it('compiles without errors', () => {
    expect(blocks.filter(isCode).length).toBeGreaterThan(50)
    expect(reported.filter((one) => !one.startsWith(wrong.place))).toEqual([])
  })

  it('is reported if it does not compile', () => {
    expect(reported).toContainEqual(expect.stringContaining('here:1 (line 2 of the block)'))
  })

  it('is exempt from compilation only rarely and with a reason', () => {
    const marked = blocks.filter(({ mark }) => mark !== undefined && mark.kind !== 'from')
    for (const { place, mark } of marked) console.log(`${place}: ${mark?.kind}: ${mark?.words}`)
    expect(marked.filter(({ mark }) => (mark?.words.length ?? 0) < 3)).toEqual([])
    expect(marked.length).toBeLessThanOrEqual(12)
  })

  it('equals the example file that its mark names', () => {
    const copies = blocks.filter(({ mark }) => mark?.kind === 'from')
    const others = copies.filter(({ text, mark }) => !`\n${read(mark?.words ?? '')}`.includes(`\n${text}`))
    expect(others.map(({ place, mark }) => `${place} is no longer ${mark?.words}`)).toEqual([])
  })
})

describe('running code in the documentation', () => {
  let redis: TestRedis | undefined
  beforeAll(async () => {
    if (redisProgram !== undefined) redis = await startRedis()
  })
  afterAll(() => redis?.close())

  it('runs without errors', async () => {
    const chosen = blocks.filter((one) => runs(one) && !byTheStranger(one) && !byRecipes(one))
    const here = chosen.filter((one) => redis !== undefined || !needsRedis(one))
    for (const { place } of chosen.filter((one) => !here.includes(one))) console.log(`${place}: not run without Redis`)
    const ports: Record<number, number> = redis === undefined ? {} : { 6379: Number(new URL(redis.url).port) }
    const { complaints, calls } = await run(here, blocks, ports)
    expect(complaints).toEqual([])
    expect(calls).toBeGreaterThan(5)
  }, 300_000)

  it.each([
    ['throws', "throw new Error('not today')", 'not today'],
    ['rejects where nobody waits', "void Promise.reject(new Error('unheard'))", 'unheard'],
    [
      'uses what is not there',
      "const a: { b: { c: number } } = JSON.parse('{}')\nconsole.log(a.b.c)",
      'here:1: TypeError',
    ],
    ['ends the process', 'process.exit(1)', 'ended the process with 1'],
    ['reaches for the network', "await fetch('https://example.com')", 'here:1: TypeError: fetch failed'],
    [
      'mounts no gateway',
      "import http from 'node:http'\n// nodeListener\nhttp.createServer((_, out) => out.end('hi')).listen(8787)",
      'not answered by the gateway',
    ],
  ])('is reported if it %s', async (_, text, message) => {
    const { complaints } = await run([block(text)])
    expect(complaints).toEqual([expect.stringContaining(message)])
  })

  it('can call providers, which are replaced by fake ones', async () => {
    const text =
      "const headers = { authorization: 'Bearer k' }\nconst answer = await fetch('https://api.groq.com/openai/v1/models', { headers })\nif (!answer.ok) throw new Error(await answer.text())"
    expect(await run([block(text)])).toEqual({ complaints: [], calls: 0 })
  })
})
