import type { ReferenceKind } from '@modelgate/core'
import { providerCatalog } from '@modelgate/core/catalog'
import { type OptionType, optionTypes } from './provider-options.ts'

type Schema = { readonly [name: string]: unknown }

const keys: Schema = {
  description: "The provider's key, or several: calls are spread over them.",
  anyOf: [
    { type: 'string' },
    {
      type: 'array',
      items: {
        anyOf: [
          { type: 'string' },
          { type: 'object', properties: { key: { type: 'string' }, weight: { type: 'number' } }, required: ['key'] },
        ],
      },
    },
  ],
}

function schemaOf(kind: OptionType): Schema {
  if (kind === 'keys') return keys
  if (kind === 'text') return { type: 'string' }
  if (kind === 'texts') return { type: 'array', items: { type: 'string' } }
  if (kind === 'flag') return { type: 'boolean' }
  if (kind === 'object') return { type: 'object' }
  if (kind === 'objects') return { type: 'array', items: { type: 'object' } }
  return 'someOf' in kind ? { type: 'array', items: { enum: kind.someOf } } : { enum: kind }
}

const reference: Schema = {
  anyOf: [{ enum: ['own', 'pass'] }, { type: 'array', items: { type: 'string', minLength: 1 } }],
}
const references = {
  responses: reference,
  conversations: reference,
  prompts: reference,
  files: reference,
  containers: reference,
  vectorStores: reference,
  caches: reference,
  batches: reference,
} satisfies Record<ReferenceKind, Schema>

const upstream: Schema = {
  type: 'object',
  required: ['provider'],
  properties: {
    provider: { enum: Object.keys(providerCatalog), description: 'A provider of the catalog: see docs/upstreams.md.' },
  },
  oneOf: Object.entries(providerCatalog).map(([name, entry]) => ({
    type: 'object',
    additionalProperties: false,
    required: ['provider', ...(entry.required ?? [])],
    properties: {
      provider: { const: name },
      ...Object.fromEntries(Object.entries(optionTypes(entry)).map(([option, type]) => [option, schemaOf(type)])),
    },
  })),
}

const ms = { type: 'number', exclusiveMinimum: 0 }
const onLoss = {
  enum: ['ignore', 'warn', 'reject'],
  description: 'What happens when a request cannot be carried whole.',
}
const features = ['tools', 'images', 'audio', 'video', 'documents', 'json', 'reasoning', 'stream']

const target: Schema = {
  type: 'object',
  additionalProperties: false,
  required: ['upstream'],
  properties: {
    upstream: { type: 'string' },
    model: {
      type: 'string',
      description: "The model's name there; `*` stands for what the `*` of the route's name matched.",
    },
    onLoss,
    priority: { type: 'number', description: 'Targets with the lowest number come first.' },
    weight: { type: 'number', exclusiveMinimum: 0 },
    when: { anyOf: [{ enum: features }, { type: 'array', items: { enum: features } }] },
    defaults: { type: 'object' },
    overrides: { type: 'object' },
    limits: {
      type: 'object',
      additionalProperties: false,
      properties: { connectMs: ms, firstByteMs: ms, idleMs: ms, totalMs: ms },
    },
  },
}
const targets: Schema = {
  type: 'array',
  minItems: 1,
  items: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/target' }] },
}
const retry: Schema = {
  anyOf: [
    { const: false },
    {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        ['attempts', 'maxWaitMs', 'backoffMs', 'maxBackoffMs', 'budgetRatio', 'budgetFloor'].map((name) => [
          name,
          { type: 'number' },
        ]),
      ),
    },
  ],
}

const text = (description: string): Schema => ({ type: 'string', description })

/** The JSON schema of `modelgate.config.json`, for editors. */
export const configSchema: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'modelgate.config.json',
  description: `In every text \${NAME} and \${NAME:-default} are taken from the environment.`,
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    port: {
      anyOf: [{ type: 'integer', minimum: 0, maximum: 65_535 }, { type: 'string' }],
      description: 'Where it listens. Default 8787.',
    },
    host: text('Which address it listens on. Default 127.0.0.1: this machine only.'),
    basePath: text("Path prefix under which the gateway lives: '/ai'."),
    auth: { const: 'none', description: 'Lets every call in.' },
    token: text('A token that is let in. Default: one is made for each run.'),
    data: text('The folder of issued tokens and of what they have used.'),
    redis: {
      description:
        'The Redis that has them instead, for several servers: its address, or an object with time limits in milliseconds.',
      anyOf: [
        { type: 'string' },
        {
          type: 'object',
          additionalProperties: false,
          properties: {
            url: { type: 'string' },
            timeoutMs: ms,
            commandMs: ms,
            connectMs: ms,
            localMs: { type: 'number', minimum: 0 },
            staleMs: { type: 'number', minimum: 0 },
          },
        },
      ],
    },
    prices: {
      anyOf: [{ type: 'string' }, { type: 'object' }],
      description: 'What models cost: a JSON file, or its content.',
    },
    ledger: text('The folder into which a record of each call is written.'),
    upstreams: {
      type: 'object',
      additionalProperties: { $ref: '#/$defs/upstream' },
      description: 'Where calls can go, by name.',
    },
    models: {
      type: 'object',
      description: 'What clients may ask for, and where it goes. A `*` stands for anything.',
      additionalProperties: {
        anyOf: [
          { type: 'string' },
          { $ref: '#/$defs/target' },
          targets,
          {
            type: 'object',
            additionalProperties: false,
            required: ['targets'],
            properties: {
              targets,
              strategy: { enum: ['order', 'weighted', 'fastest', 'sticky'] },
              preferLossless: { type: 'boolean' },
              retry,
              hedgeMs: ms,
            },
          },
        ],
      },
    },
    listedModels: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Names that model lists show in addition: some of those that names with a `*` match.',
    },
    console: {
      description: 'The home page and the Playground.',
      anyOf: [
        { type: 'boolean' },
        {
          type: 'object',
          additionalProperties: false,
          properties: { playground: { type: 'boolean' }, explain: { type: 'boolean' } },
        },
      ],
    },
    otel: { anyOf: [{ type: 'boolean' }, { type: 'object' }], description: 'OpenTelemetry spans and metrics.' },
    onLoss,
    explain: { type: 'boolean', description: 'Whether clients may ask what would become of a call.' },
    responses: { type: 'object', properties: { store: { const: false }, ttlMs: ms } },
    references: {
      type: 'object',
      description:
        'Which references to stored state clients may make: to their own, to any, or also to those on a list.',
      additionalProperties: false,
      properties: references,
    },
    limits: { type: 'object', additionalProperties: { type: 'number', exclusiveMinimum: 0 } },
    retry,
    breaker: { anyOf: [{ const: false }, { type: 'object', additionalProperties: { type: 'number' } }] },
    logger: { const: false, description: 'Says nothing of what goes wrong.' },
  },
  $defs: { upstream, target },
}
