import { defaultBreaker, defaultLimits, defaultRetry, referenceKinds } from '@modelgate/core/test-support'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { read } from './pages.mjs'

const page = 'docs/reference/configuration.md'

/** The interface whose members a section lists. */
const sections: Readonly<Record<string, readonly [name: string, file: string]>> = {
  'Gateway options': ['GatewayConfig', 'core/src/config/config.ts'],
  Identity: ['Identity', 'core/src/config/identity.ts'],
  'Upstream options': ['UpstreamOptions', 'core/src/upstreams/upstream.ts'],
  'Options of `openai`': ['OpenAIOptions', 'core/src/upstreams/openai.ts'],
  'Options of `xai`': ['XaiOptions', 'core/src/upstreams/xai.ts'],
  'Options of `openaiCompatible`': ['CompatibleOptions', 'core/src/upstreams/openai-compatible.ts'],
  'Options of `azure`': ['AzureOptions', 'core/src/upstreams/azure.ts'],
  'Options of `bedrock`': ['BedrockOptions', 'core/src/upstreams/bedrock.ts'],
  'AWS options': ['AwsOptions', 'core/src/upstreams/bedrock.ts'],
  'Options of `bedrockMantle`': ['BedrockMantleOptions', 'core/src/upstreams/bedrock.ts'],
  'Options of `vertex`': ['VertexOptions', 'core/src/upstreams/vertex.ts'],
  Target: ['Target', 'core/src/config/config.ts'],
  Plan: ['RoutePlan', 'core/src/config/config.ts'],
  'Model card': ['ModelCard', 'core/src/formats/model-card.ts'],
  'Model cards': ['ModelCardsConfig', 'core/src/config/config.ts'],
  Retries: ['RetryConfig', 'core/src/config/config.ts'],
  'Circuit breaker': ['BreakerConfig', 'core/src/config/config.ts'],
  'Limits and timeouts': ['Limits', 'core/src/config/limits.ts'],
  'Timeouts of a target': ['TargetLimits', 'core/src/config/limits.ts'],
  'Stored responses': ['ResponsesConfig', 'core/src/config/config.ts'],
  'Stored objects': ['ObjectsConfig', 'core/src/config/config.ts'],
  Compaction: ['CompactionConfig', 'core/src/config/config.ts'],
  'Media policy': ['MediaPolicy', 'core/src/config/media-policy.ts'],
  'Plugin hooks': ['Plugin', 'core/src/config/plugin.ts'],
  Tokens: ['TokensOptions', 'tokens/src/create-tokens.ts'],
  'Folder storage': ['FolderStorageOptions', 'tokens/src/storage/folder/folder-storage.ts'],
  'Redis storage': ['RedisStorageOptions', 'tokens/src/storage/redis/redis-storage.ts'],
  'Ledger files': ['FileLedgerOptions', 'tokens/src/ledger/file-ledger.ts'],
  Console: ['ConsoleOptions', 'console/src/console-pages.ts'],
  OpenTelemetry: ['OtelOptions', 'otel/src/otel.ts'],
  Prometheus: ['PrometheusOptions', 'otel/src/prometheus.ts'],
  Health: ['HealthOptions', 'core/src/gateway/health-routes.ts'],
  'Access log': ['AccessLogOptions', 'node/src/logs/access-log.ts'],
  'Node adapters': ['NodeOptions', 'node/src/server/handler.ts'],
  'Undici transport': ['UndiciTransportOptions', 'node/src/transport/undici-transport.ts'],
  'WebSocket upgrades': ['UpgradeOptions', 'node/src/realtime/upgrade.ts'],
  'Server settings': ['ModelgateConfig', 'cli/src/config/define-config.ts'],
}

/** Returns the rows of the table of a section: option and default. */
function rowsOf(section: string): { option: string; default: string }[] {
  const [, text = ''] = read(page).split(`# ${section}\n`)
  const [table = ''] = text.split(/^#+ /m)
  return [...table.matchAll(/^\| `(\w+)` \|[^|]*\|([^|]*)\|/gm)].map(([, option = '', value = '']) => ({
    option,
    default: value.trim(),
  }))
}

/** Returns the own members of an interface. Members of the type `never` forbid an option and are left out. */
function membersOf(name: string, file: string): { option: string; required: boolean }[] {
  const source = ts.createSourceFile(file, read(`packages/${file}`), ts.ScriptTarget.Latest, true)
  const declaration = source.statements.find((one) => ts.isInterfaceDeclaration(one) && one.name.text === name)
  if (declaration === undefined || !ts.isInterfaceDeclaration(declaration)) throw new Error(`${file} has no ${name}`)
  return declaration.members.flatMap((member) => {
    if (!ts.isPropertySignature(member) && !ts.isMethodSignature(member)) return []
    if (member.type?.kind === ts.SyntaxKind.NeverKeyword) return []
    return [{ option: member.name.getText(), required: member.questionToken === undefined }]
  })
}

describe(page, () => {
  it.each(Object.entries(sections))('lists the options of the section %s', (section, [name, file]) => {
    const members = membersOf(name, file)
    expect(members.length).toBeGreaterThan(0)
    const rows = rowsOf(section).map((row) => ({ option: row.option, required: row.default === 'required' }))
    const byName = (a: { option: string }, b: { option: string }): number => (a.option < b.option ? -1 : 1)
    expect(rows.sort(byName)).toEqual(members.sort(byName))
  })

  it.each([
    ['Retries', defaultRetry],
    ['Circuit breaker', defaultBreaker],
    ['Limits and timeouts', defaultLimits],
  ])('states the defaults of the section %s', (section, defaults) => {
    const rows = rowsOf(section).map((row) => [row.option, Number(row.default)])
    expect(Object.fromEntries(rows)).toEqual(defaults)
  })

  it('lists the kinds of references', () => {
    expect(rowsOf('References').map(({ option }) => option)).toEqual(referenceKinds)
  })

  it('assigns an interface to each section with a table', () => {
    const headings = [...read(page).matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading)
    const withTable = headings.filter((heading) => rowsOf(heading).length > 0)
    expect(withTable.filter((heading) => heading !== 'References')).toEqual(Object.keys(sections))
  })
})
