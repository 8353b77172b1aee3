// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables, as configurations name them
import { expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { createTestContext } from './terminal/command-context.test-support.ts'

it.each([['--version'], ['-v'], ['version']])('%s prints the version', async (arg) => {
  const context = createTestContext()
  expect(await context.run(arg)).toBe(0)
  expect(context.stdout()).toBe(`${manifest.version}\n`)
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
  [['owners'], ['modelgate owners set', '--budget-usd']],
])('%j prints help', async (args, words) => {
  const context = createTestContext()
  expect(await context.run(...args)).toBe(0)
  for (const word of words) expect(context.stdout()).toContain(word)
  expect(context.stderr()).toBe('')
})

it.each([
  [['strat'], 2, "Unknown command 'strat'. Did you mean 'start'?\nRun 'npx modelgate --help' for usage."],
  [['serve'], 2, "Unknown command 'serve'. Valid: start, init, check, calls, prices, tokens, owners."],
  [['help', 'chekc'], 2, "Did you mean 'check'?"],
  [
    ['start', '--prot', '1'],
    2,
    "Unknown option '--prot'. Did you mean '--port'?\nRun 'npx modelgate start --help' for usage.",
  ],
  [['--nothing'], 2, "Unknown option '--nothing'."],
  [['start', 'now'], 2, "Unexpected argument 'now' of 'start'."],
  [['start', '--port'], 2, 'argument missing'],
  [['start', '--port', 'x'], 1, "Invalid --port 'x': set it to a number"],
  [['start', '--config', 'no.json'], 1, "File 'no.json' does not exist."],
  [['init', '--ts', '--json'], 2, "--ts and --json can't be combined"],
  [['tokens', 'isue'], 2, "Did you mean 'issue'?"],
  [['owners', 'sett'], 2, "Did you mean 'set'?"],
  [['owners', 'set', '--data', 'd'], 2, "'owners set' requires an owner: set ada"],
  [['owners', 'set', 'ada', '--data', 'd', '--per', 'year'], 2, "Invalid --per 'year'"],
  [['tokens', 'list'], 2, 'The location of the tokens is unknown'],
  [['tokens', 'list', '--data', 'none'], 1, 'does not exist'],
  [
    ['tokens', 'issue', '--data', 'd', '--expires', 'soon'],
    2,
    "Invalid --expires 'soon': use a duration such as 12h, 30d",
  ],
  [
    ['tokens', 'issue', '--data', 'd', '--requests-per-minute', '-5'],
    2,
    "Invalid --requests-per-minute '-5': expected a whole number of 1 or more",
  ],
  [['tokens', 'issue', '--data', 'd', '--concurrent', '1.5'], 2, "Invalid --concurrent '1.5': expected a whole number"],
  [['tokens', 'issue', '--data', 'd', '--budget-tokens', 'Infinity'], 2, "Invalid --budget-tokens 'Infinity'"],
  [['tokens', 'issue', '--data', 'd', '--budget-usd', '5'], 2, '--budget-usd requires prices: set MODELGATE_PRICES'],
  [['tokens', 'issue', '--data', 'd', '--per', 'year'], 2, "Invalid --per 'year'. Valid: day, week, month, total."],
] as const)('%j exits with code %i and a one-line reason', async (args, code, words) => {
  const context = createTestContext()
  expect(await context.run(...args)).toBe(code)
  expect(context.stderr()).toContain(words)
  expect(context.stderr()).toMatch(/^modelgate: /)
  expect(context.stderr()).not.toMatch(/\n\s+at /)
  expect(context.stdout()).toBe('')
})

it.each([
  ['upstreams: { a: null }, models: {}', 'upstreams.a is not an upstream: create it with openai()'],
  ["upstreams: { a: { baseURL: 'x' } }, models: { m: 'a' }", 'upstreams.a is not an upstream'],
  ["upstreams: {}, models: { m: 'a' }", 'upstreams is empty'],
])('reports the configuration { %s } with the name of its file', async (text, words) => {
  const context = createTestContext({ 'modelgate.config.mjs': `export default { ${text} }` })
  expect(await context.run('start', '--port', '0')).toBe(1)
  expect(context.stderr()).toContain(`modelgate: modelgate.config.mjs: ${words}`)
})

it('reports all problems of a configuration file at once, one per line', async () => {
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
  const lines = context.stderr().trimEnd().split('\n')
  const file = 'modelgate: modelgate.config.json: '
  expect(lines).toEqual([
    expect.stringContaining(`${file}upstreams.one.apiKey needs the environment variable NO_KEY`),
    expect.stringContaining(`${file}upstreams.three.baseURL needs the environment variable NO_URL`),
    expect.stringContaining(`${file}'openai' has no option upstreams.one.baseUrl`),
    expect.stringContaining(`${file}upstreams.one.formats is a list: expected`),
    expect.stringContaining(`${file}upstreams.two.provider is 'opnai'`),
    expect.stringContaining(`${file}Unknown setting 'prot'. Did you mean 'port'?`),
    expect.stringContaining(`${file}console is a string`),
    expect.stringContaining(`${file}models['a'] names the unknown upstream 'four'`),
    expect.stringContaining(`${file}models['b'].weight is -1`),
    expect.stringContaining(`${file}limits.bodyBytes is 0`),
    "modelgate: Invalid --port 'x': set it to a number from 0 to 65535.",
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
  expect(context.stderr()).toMatch(
    /^modelgate: modelgate\.config\.mjs: models\['x'\] names .*\nmodelgate: modelgate\.config\.mjs: retry\.attempts is 0.*\n$/,
  )
  expect(await context.run('start', '--port', '0', '--config', 'undefined.mjs')).toBe(1)
  const variable = 'Set the environment variable that it is read from (usually'
  const lines = context.stderr().split('\n').slice(2, -1)
  expect(lines).toEqual([
    expect.stringContaining("undefined.mjs: Unknown setting 'prot'. Did you mean 'port'?"),
    `modelgate: undefined.mjs: upstreams.a.apiKey is undefined. ${variable} OPENAI_API_KEY), or leave apiKey out if the upstream needs none`,
    `modelgate: undefined.mjs: upstreams.b.apiKey is empty. ${variable} ANTHROPIC_API_KEY), or leave apiKey out if the upstream needs none`,
    `modelgate: undefined.mjs: upstreams.c.credentials.accessKeyId is undefined. ${variable} AWS_ACCESS_KEY_ID)`,
    expect.stringContaining("undefined.mjs: models['y'] names the unknown upstream 'd'"),
  ])
  expect(await context.run('check', '--config', 'undefined.mjs')).toBe(1)
  expect(context.stdout()).toContain('upstreams.b.apiKey is empty.')
})

it('issues tokens into the configured folder', async () => {
  const context = createTestContext({ 'modelgate.config.json': '{ "data": "kept" }' })
  expect(await context.run('tokens', 'issue', '--name', 'laptop', '--json')).toBe(0)
  const { id } = JSON.parse(context.stdout())
  const other = createTestContext({}, { MODELGATE_DATA: `${context.cwd}/kept` })
  expect(await other.run('tokens', 'show', id)).toBe(0)
  expect(other.stdout()).toMatch(/^Name +laptop$/m)
})

it('reports the cause of a storage failure instead of the message for clients', async () => {
  const context = createTestContext()
  const issue = ['tokens', 'issue', '--data', 'd', '--requests-per-minute', '60', '--json']
  expect(await context.run(...issue)).toBe(0)
  const { id } = JSON.parse(context.stdout())
  context.write('d/meters.db', 'x'.repeat(5000))
  expect(await context.run('tokens', 'usage', id, '--data', 'd')).toBe(1)
  const meters = /^modelgate: \S+meters\.db is not a database\. Restore it from a backup, or move it away.*\n$/
  expect(context.stderr()).toMatch(meters)
  context.write('d/tokens.db', 'x'.repeat(5000))
  expect(await context.run('tokens', 'list', '--data', 'd')).toBe(1)
  expect(context.stderr()).toContain('tokens.db is not a database. Restore it from a backup')
})

it('does not start with a damaged meters.db', async () => {
  const context = createTestContext({}, { MODELGATE_DATA: 'd' })
  expect(await context.run('tokens', 'issue')).toBe(0)
  context.write('d/meters.db', 'x'.repeat(5000))
  expect(await context.run('start', '--port', '0')).toBe(1)
  expect(context.stderr()).toMatch(/^modelgate: \S+meters\.db is not a database\./)
})

it('sets, lists, shows and deletes the limits and budgets of an owner', async () => {
  const context = createTestContext()
  const set = ['owners', 'set', 'ada', '--data', 'd', '--requests-per-minute', '60', '--budget-tokens', '1000']
  expect(await context.run(...set, '--per', 'week')).toBe(0)
  expect(context.stdout()).toMatch(/Limit +60 requests per minute\n/)
  for (const [args, words] of [
    [['list'], 'ada'],
    [['show', 'ada'], '1,000 tokens per week'],
    [['usage', 'ada'], '1,000'],
    [['delete', 'ada'], 'ada no longer has limits or budgets'],
    [['list'], 'No owner has limits or budgets yet'],
  ] as const) {
    const next = createTestContext()
    expect(await next.run('owners', ...args, '--data', `${context.cwd}/d`), next.stderr()).toBe(0)
    expect(next.stdout()).toContain(words)
  }
})

it('warns that tokens.db is empty', async () => {
  const context = createTestContext({}, { MODELGATE_DATA: 'd' })
  expect(await context.run('tokens', 'issue')).toBe(0)
  context.write('d/tokens.db', '')
  expect(await context.run('tokens', 'list')).toBe(0)
  expect(context.stderr()).toContain('tokens.db is empty, so no token exists')
})

it('shows the limits and budgets of a token as text', async () => {
  const context = createTestContext({ 'prices.json': '{ "models": {} }' }, { MODELGATE_PRICES: 'prices.json' })
  const issue = ['tokens', 'issue', '--data', 'd', '--requests-per-minute', '60', '--tokens-per-minute', '100000']
  expect(await context.run(...issue, '--concurrent', '4', '--budget-usd', '5', '--budget-tokens', '1000000')).toBe(0)
  expect(context.stdout()).toContain("Copy this token now. It won't be shown again.")
  expect(context.stdout()).toMatch(/Limit +60 requests per minute, 100,000 tokens per minute, 4 concurrent calls\n/)
  expect(context.stdout()).toMatch(/Budget +5 \(currency of the prices\) per month\n/)
  expect(context.stdout()).toMatch(/Budget +1,000,000 tokens per month\n/)
  expect(context.stdout()).not.toContain('{')
})
