import { lazy } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { Operation } from '../base/names.ts'
import type { ReportProblem } from '../base/problems.ts'
import type { GatewayConfig } from '../config/config.ts'
import { wireLoader } from '../formats/codec-registry.ts'
import { codecFinder, codecWithErrors, type ErrorEncoder } from '../operations/client-codec.ts'
import { handleGenerate } from '../operations/generate.ts'
import type { Handler, Route } from '../operations/route.ts'
import { routeTargets } from '../routing/router.ts'
import type { Edition } from './edition.ts'

/** The import that has everything. */
const advice = "Import createGateway from '@modelgate/core', which has everything."

const routes: readonly Route[] = [
  { method: 'POST', path: '/v1/chat/completions', operation: 'generate', format: 'chat', unversionedAlias: true },
  { method: 'GET', path: '/v1/models', operation: 'list-models', format: 'chat' },
  { method: 'GET', path: '/v1/models/{model}', operation: 'get-model', format: 'chat' },
]

const leftOut = (what: string): Promise<never> =>
  Promise.reject(new GatewayError('not_implemented', `'@modelgate/core/chat' has no ${what}. ${advice}`))

const handlers: { readonly [O in Operation]?: () => Handler | Promise<Handler> } = {
  generate: () => handleGenerate,
  'list-models': lazy(() => import('../operations/models.ts').then((found) => found.handleListModels)),
  'get-model': lazy(() => import('../operations/models.ts').then((found) => found.handleGetModel)),
  plugin: lazy(() => import('../operations/plugin-route.ts').then((found) => found.handlePluginRoute)),
}

/** The paths of clients that read errors of another form than OpenAI's, with the loaders of their encoders. */
const otherDialects: readonly (readonly [path: RegExp, loadEncoder: () => Promise<ErrorEncoder>])[] = [
  [/\/messages(\/|$)/, () => import('./refused-dialects.ts').then((found) => found.encodeMessagesError)],
  [/\/v1beta\d*\/|:\w+$/, () => import('./refused-dialects.ts').then((found) => found.encodeGeminiError)],
]
const refusals = otherDialects.map(([path, loadEncoder]) => [path, codecWithErrors('chat', loadEncoder)] as const)

/** Chat completions that pass unchanged between clients and upstreams of OpenAI's format, and the list of models. */
export const chatEdition: Edition = {
  routes,
  formats: {
    wires: { chat: wireLoader('chat', () => import('../formats/chat/wire.ts').then(({ chatWire }) => chatWire)) },
    codecs: {},
    dialectWires: {},
    dialectCodecs: {},
  },
  parts: {
    loadTranslation: () => leftOut('translation between formats'),
    loadFramedLane: () => leftOut('framing of streams other than server-sent events'),
    loadCacheChanges: () => leftOut("cache: 'auto'"),
    loadConditions: () => leftOut('conditions'),
    loadAdaptation: (name) => leftOut(`adaptation to clients of ${name}`),
    loadAdaptedLane: () => leftOut('adaptation to clients of other vendors'),
    loadFraming: (name) => leftOut(`framing '${name}'`),
    loadExplanation: () => leftOut('explanation of calls'),
    loadResponseStore: () => leftOut('store of responses'),
  },
  translates: false,
  loadCapture: () => leftOut('capture of bodies'),
  loadCardTable: async () => [],
  findCodec: codecFinder(routes, (path) => refusals.find(([dialect]) => dialect.test(path))?.[1]),
  handlerOf: ({ operation }) => (handlers[operation] ?? (() => leftOut(`operation '${operation}'`)))(),
  checkConfig,
  unknownPathAdvice: ` '@modelgate/core/chat' serves ${routes.map(({ method, path }) => `${method} ${path}`).join(', ')} only. ${advice}`,
}

/** Reports settings that this edition would ignore. */
function checkConfig({ upstreams, models, media, plugins }: GatewayConfig, report: ReportProblem): void {
  for (const [name, { formats }] of Object.entries(upstreams ?? {}))
    if (formats?.chat === undefined)
      report(
        `upstreams.${name} does not speak OpenAI's chat format, and '@modelgate/core/chat' translates nothing. ${advice}`,
      )
  for (const [name, route] of Object.entries(models ?? {}))
    for (const setting of ['when', 'cache'] as const)
      if (routeTargets(route).some((target) => target[setting] !== undefined))
        report(`models['${name}'] sets '${setting}', which '@modelgate/core/chat' does not have. ${advice}`)
  if (media !== undefined) report(`media: '@modelgate/core/chat' fetches no media. ${advice}`)
  for (const { name, onBodies } of plugins ?? [])
    if (onBodies !== undefined)
      report(`plugins: '${name}' asks for bodies (onBodies), which '@modelgate/core/chat' does not capture. ${advice}`)
}
