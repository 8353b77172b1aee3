import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { readEnvFile } from '../config/env-file.ts'
import { envProviders } from '../config/env-providers.ts'
import { fileNames } from '../config/load-file.ts'
import { flag, readArgs, rejectExtraArguments } from '../terminal/args.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { UsageError } from '../terminal/errors.ts'
import { type Chosen, codeTemplate, jsonTemplate } from './templates.ts'

const kinds = ['ts', 'js', 'json'] as const
type Kind = (typeof kinds)[number]

/** Providers of a new configuration if no key is found. */
const usual: ReadonlySet<string> = new Set(['openai', 'anthropic', 'gemini'])

/** Runs `modelgate init`: writes a configuration and prints the next steps. */
export async function init(args: string[], context: CommandContext): Promise<number> {
  const { values, positionals: words } = readArgs(args, { ts: flag, js: flag, json: flag, force: flag }, 'init')
  rejectExtraArguments(words, 'init')
  const selected = kinds.filter((kind) => values[kind] === true)
  if (selected.length > 1)
    throw new UsageError(`${selected.map((kind) => `--${kind}`).join(' and ')} can't be combined. Choose one.`, 'init')
  readEnvFile(context)
  const file = `modelgate.config.${selected[0] ?? usualKind(context.cwd)}`
  const there = fileNames.find((name) => existsSync(join(context.cwd, name)))
  if (there !== undefined && !(values.force === true && there === file))
    throw new Error(
      there === file
        ? `${file} already exists. Use --force to overwrite it.`
        : `${there} already exists, and only one configuration file is loaded. Remove it before you create ${file}.`,
    )
  const found = envProviders.flatMap((provider): Chosen[] => {
    const keyName = provider.environment.apiKey.find((name) => context.env[name])
    return keyName === undefined ? [] : [{ provider, keyName }]
  })
  const chosen =
    found.length > 0
      ? found
      : envProviders
          .filter(({ name }) => usual.has(name))
          .map((provider) => ({
            provider,
            keyName: provider.environment.apiKey[0],
          }))
  writeFileSync(join(context.cwd, file), contents(file.slice(file.lastIndexOf('.') + 1) as Kind, chosen, context.cwd))
  context.out(whatNext(file, chosen, found.length > 0, context))
  return 0
}

const usualKind = (cwd: string): Kind => (existsSync(join(cwd, 'tsconfig.json')) ? 'ts' : 'js')

const contents = (kind: Kind, chosen: readonly Chosen[], cwd: string): string =>
  kind === 'json' ? jsonTemplate(chosen, schemaFor(cwd)) : codeTemplate(chosen)

/** Returns the JSON schema for editors: that of the installed package, else the published one. */
const schemaFor = (cwd: string): string => {
  const installed = 'node_modules/modelgate/config.schema.json'
  return existsSync(join(cwd, installed))
    ? `./${installed}`
    : `https://unpkg.com/modelgate@${version}/config.schema.json`
}

function whatNext(file: string, chosen: readonly Chosen[], found: boolean, { command }: CommandContext): string {
  const keys = chosen.map(({ keyName }) => keyName)
  const lines = [
    [`${command} check`, 'tests the configuration and each upstream'],
    [`${command} tokens issue --name laptop`, 'issues a token for a client'],
    [command, 'starts the server'],
  ] as const
  const widest = Math.max(...lines.map(([line]) => line.length))
  const steps = [
    ...(found ? [] : [`Set ${keys.join(', ')}, or remove the upstreams without a key from the file.`]),
    ...lines.map(([line, why]) => `${line.padEnd(widest)}  ${why}`),
  ]
  return [
    `Wrote ${file}${found ? ` for ${keys.join(', ')}` : ''}.`,
    '',
    'Next:',
    ...steps.map((step, at) => `  ${at + 1}. ${step}`),
    ...(file.endsWith('.ts') ? ['', 'To get its types in your editor: npm install --save-dev modelgate'] : []),
  ].join('\n')
}
