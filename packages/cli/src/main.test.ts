// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables, as configurations name them
import { expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { createTestContext } from './terminal/command-context.test-support.ts'

it.each([['--version'], ['-v'], ['version']])('%s', async (arg) => {
  const context = createTestContext()
  expect(await context.run(arg)).toBe(0)
  expect(context.said()).toBe(`${manifest.version}\n`)
})

it.each([
  [['--help'], ['npx modelgate init', 'npx modelgate check', 'tokens', 'OPENAI_BASE_URL=', 'ANTHROPIC_BASE_URL=']],
  [['help'], ['npx modelgate init']],
  [
    ['start', '--help'],
    ['--config', '--port', 'MODELGATE_DATA', 'OPENAI_API_KEY'],
  ],
  [['help', 'start'], ['--watch']],
  [['--port', '1', '--help'], ['--watch']],
  [['init', '-h'], ['--force']],
  [
    ['check', '--help'],
    ['--timeout', 'Exit'],
  ],
  [['tokens', '--help'], ['--budget-usd']],
  [['tokens', 'issue', '--help'], ['--budget-usd']],
  [['tokens'], ['--budget-usd']],
])('%j teaches', async (args, words) => {
  const context = createTestContext()
  expect(await context.run(...args)).toBe(0)
  for (const word of words) expect(context.said()).toContain(word)
  expect(context.complained()).toBe('')
})

it.each([
  [['strat'], 2, "there is no command 'strat': did you mean 'start'?\nnpx modelgate --help tells"],
  [['serve'], 2, "there is no command 'serve': there are start, init, check, tokens"],
  [['help', 'chekc'], 2, "did you mean 'check'?"],
  [
    ['start', '--prot', '1'],
    2,
    "there is no option '--prot': did you mean '--port'?\nnpx modelgate start --help tells",
  ],
  [['--nothing'], 2, "there is no option '--nothing'"],
  [['start', 'now'], 2, "'now' is one word too many for start"],
  [['start', '--port'], 2, 'argument missing'],
  [['start', '--port', 'x'], 1, "--port is 'x': set it to a number"],
  [['start', '--config', 'no.json'], 1, "there is no file 'no.json'"],
  [['init', '--ts', '--json'], 2, '--ts and --json exclude each other'],
  [['tokens', 'isue'], 2, "did you mean 'issue'?"],
  [['tokens', 'list'], 2, 'it is not known where the tokens are'],
  [['tokens', 'list', '--data', 'none'], 1, 'no such folder'],
  [['tokens', 'issue', '--data', 'd', '--expires', 'soon'], 2, "--expires is 'soon': give a duration such as 12h, 30d"],
  [
    ['tokens', 'issue', '--data', 'd', '--requests-per-minute', '-5'],
    2,
    "--requests-per-minute is '-5': give a whole number of 1 or more",
  ],
  [['tokens', 'issue', '--data', 'd', '--concurrent', '1.5'], 2, "--concurrent is '1.5': give a whole number"],
  [['tokens', 'issue', '--data', 'd', '--budget-tokens', 'Infinity'], 2, "--budget-tokens is 'Infinity'"],
  [['tokens', 'issue', '--data', 'd', '--budget-usd', '5'], 2, '--budget-usd needs prices: set MODELGATE_PRICES'],
  [['tokens', 'issue', '--data', 'd', '--per', 'year'], 2, "--per is 'year': give one of day, week, month, total"],
] as const)('%j ends with %i and says why, without a stack', async (args, code, words) => {
  const context = createTestContext()
  expect(await context.run(...args)).toBe(code)
  expect(context.complained()).toContain(words)
  expect(context.complained()).toMatch(/^modelgate: /)
  expect(context.complained()).not.toMatch(/\n\s+at /)
  expect(context.said()).toBe('')
})

it.each([
  ['upstreams: { a: null }, models: {}', 'upstreams.a is no upstream: make it with openai()'],
  ["upstreams: { a: { baseURL: 'x' } }, models: { m: 'a' }", 'upstreams.a is no upstream'],
  ["upstreams: {}, models: { m: 'a' }", 'upstreams is empty'],
])('a start with { %s } names the file and what to write', async (text, words) => {
  const context = createTestContext({ 'modelgate.config.mjs': `export default { ${text} }` })
  expect(await context.run('start', '--port', '0')).toBe(1)
  expect(context.complained()).toContain(`modelgate: modelgate.config.mjs: ${words}`)
})

it('reports all problems of a configuration file at once, a line for each', async () => {
  const context = createTestContext({
    'modelgate.config.json': JSON.stringify({
      prot: 1,
      console: 'yes',
      upstreams: {
        one: { provider: 'openai', apiKey: '${NO_KEY}', baseUrl: 'x', formats: ['chats'] },
        two: { provider: 'opnai' },
        three: { provider: 'groq', baseURL: '${NO_URL}' },
      },
      models: { a: 'four', b: { upstream: 'one', weight: -1 }, c: 'two' },
      limits: { bodyBytes: 0 },
    }),
  })
  expect(await context.run('start', '--port', 'x')).toBe(1)
  const lines = context.complained().trimEnd().split('\n')
  const file = 'modelgate: modelgate.config.json: '
  expect(lines).toEqual([
    expect.stringContaining(`${file}upstreams.one.apiKey takes NO_KEY from the environment`),
    expect.stringContaining(`${file}upstreams.three.baseURL takes NO_URL from the environment`),
    expect.stringContaining(`${file}upstreams.one.baseUrl is nothing that 'openai' takes`),
    expect.stringContaining(`${file}upstreams.one.formats is a list: write`),
    expect.stringContaining(`${file}upstreams.two.provider is 'opnai'`),
    expect.stringContaining(`${file}prot is no setting: did you mean 'port'?`),
    expect.stringContaining(`${file}console is a string`),
    expect.stringContaining(`${file}models['a'] names the upstream 'four'`),
    expect.stringContaining(`${file}models['b'].weight is -1`),
    expect.stringContaining(`${file}limits.bodyBytes is 0`),
    "modelgate: --port is 'x': set it to a number from 0 to 65535",
  ])
})

it('reports all problems that the gateway finds, and names an API key that is undefined', async () => {
  const context = createTestContext({
    'modelgate.config.mjs': `import { openai } from 'modelgate'
      export default { upstreams: { a: openai({ apiKey: 'k' }) }, models: { x: 'b' }, retry: { attempts: 0 } }`,
    'undefined.mjs': `import { anthropic, bedrock, openai } from 'modelgate'
      const { NO_SUCH_KEY } = process.env
      const upstreams = {
        a: openai({ apiKey: NO_SUCH_KEY }),
        b: anthropic({ apiKey: NO_SUCH_KEY ?? '' }),
        c: bedrock({ region: 'us-east-1', credentials: { accessKeyId: NO_SUCH_KEY, secretAccessKey: 'x' } }),
      }
      export default { upstreams, models: { x: 'a', y: 'd' }, prot: 1 }`,
  })
  expect(await context.run('start', '--port', '0')).toBe(1)
  expect(context.complained()).toMatch(
    /^modelgate: modelgate\.config\.mjs: models\['x'\] names .*\nmodelgate: modelgate\.config\.mjs: retry\.attempts is 0.*\n$/,
  )
  expect(await context.run('start', '--port', '0', '--config', 'undefined.mjs')).toBe(1)
  const variable = 'Set the environment variable that it is read from (usually'
  const lines = context.complained().split('\n').slice(2, -1)
  expect(lines).toEqual([
    expect.stringContaining("undefined.mjs: prot is no setting: did you mean 'port'?"),
    `modelgate: undefined.mjs: upstreams.a.apiKey is undefined. ${variable} OPENAI_API_KEY), or leave apiKey out if the upstream needs none`,
    `modelgate: undefined.mjs: upstreams.b.apiKey is empty. ${variable} ANTHROPIC_API_KEY), or leave apiKey out if the upstream needs none`,
    `modelgate: undefined.mjs: upstreams.c.credentials.accessKeyId is undefined. ${variable} AWS_ACCESS_KEY_ID)`,
    expect.stringContaining("undefined.mjs: models['y'] names the upstream 'd'"),
  ])
  expect(await context.run('check', '--config', 'undefined.mjs')).toBe(1)
  expect(context.said()).toContain('upstreams.b.apiKey is empty.')
})

it('tokens are issued where the configuration has them', async () => {
  const context = createTestContext({ 'modelgate.config.json': '{ "data": "kept" }' })
  expect(await context.run('tokens', 'issue', '--name', 'laptop', '--json')).toBe(0)
  const { id } = JSON.parse(context.said())
  const other = createTestContext({}, { MODELGATE_DATA: `${context.cwd}/kept` })
  expect(await other.run('tokens', 'show', id)).toBe(0)
  expect(other.said()).toMatch(/^Name +laptop$/m)
})

it('reports the cause of a failure of the store, not the message that clients get', async () => {
  const context = createTestContext()
  const issue = ['tokens', 'issue', '--data', 'd', '--requests-per-minute', '60', '--json']
  expect(await context.run(...issue)).toBe(0)
  const { id } = JSON.parse(context.said())
  context.write('d/meters.db', 'x'.repeat(5000))
  expect(await context.run('tokens', 'usage', id, '--data', 'd')).toBe(1)
  const meters = /^modelgate: \S+meters\.db is not a database\. Restore it from a backup, or move it away.*\n$/
  expect(context.complained()).toMatch(meters)
  context.write('d/tokens.db', 'x'.repeat(5000))
  expect(await context.run('tokens', 'list', '--data', 'd')).toBe(1)
  expect(context.complained()).toContain('tokens.db is not a database. Restore it from a backup')
})

it('does not start with a damaged file of counts', async () => {
  const context = createTestContext({}, { MODELGATE_DATA: 'd' })
  expect(await context.run('tokens', 'issue')).toBe(0)
  context.write('d/meters.db', 'x'.repeat(5000))
  expect(await context.run('start', '--port', '0')).toBe(1)
  expect(context.complained()).toMatch(/^modelgate: \S+meters\.db is not a database\./)
})

it('warns that tokens.db is empty', async () => {
  const context = createTestContext({}, { MODELGATE_DATA: 'd' })
  expect(await context.run('tokens', 'issue')).toBe(0)
  context.write('d/tokens.db', '')
  expect(await context.run('tokens', 'list')).toBe(0)
  expect(context.complained()).toContain('tokens.db is empty, so no token is known')
})

it('shows the limits and budgets of a token as text', async () => {
  const context = createTestContext({ 'prices.json': '{ "models": {} }' }, { MODELGATE_PRICES: 'prices.json' })
  const issue = ['tokens', 'issue', '--data', 'd', '--requests-per-minute', '60', '--tokens-per-minute', '100000']
  expect(await context.run(...issue, '--concurrent', '4', '--budget-usd', '5', '--budget-tokens', '1000000')).toBe(0)
  expect(context.said()).toContain("Copy this token now. It won't be shown again.")
  expect(context.said()).toMatch(/Limit +60 requests per minute, 100,000 tokens per minute, 4 concurrent calls\n/)
  expect(context.said()).toMatch(/Budget +5 \(currency of the prices\) per month\n/)
  expect(context.said()).toMatch(/Budget +1,000,000 tokens per month\n/)
  expect(context.said()).not.toContain('{')
})
