import { lazy } from '../base/async.ts'
import type { Format } from '../base/names.ts'
import { adaptations } from '../formats/adaptations/adaptations.ts'
import { loadWire } from '../formats/codec-registry.ts'
import { everyFormat } from '../formats/every-format.ts'
import { framings } from '../http/framing/framings.ts'
import { codecFinder, defaultErrorFormat } from '../operations/client-codec.ts'
import { errorEncoderOf } from '../operations/error-encoders.ts'
import { mounts } from '../operations/families.ts'
import { handlerOf } from '../operations/handlers.ts'
import { routes } from '../operations/routes.ts'
import type { GatewayEdition } from './start-gateway.ts'

const dialectFolders = mounts.flatMap(({ prefix, formats: [format = defaultErrorFormat] }) =>
  prefix.includes('{') ? [] : [{ folder: `${prefix}/`, format }],
)

/** Returns the format of errors for an unknown path: that of the family whose prefix it has. */
const formatOfUnknown = (path: string): Format | undefined =>
  dialectFolders.find(({ folder }) => path.includes(folder))?.format

/** Everything. */
export const fullEdition: GatewayEdition = {
  routes,
  formats: everyFormat,
  parts: {
    loadTranslation: lazy(() => import('../lanes/generation-translation.ts').then(({ translate }) => translate)),
    loadFramedLane: lazy(() => import('../lanes/framed-lane.ts').then(({ framedLane }) => framedLane)),
    loadCacheChanges: lazy(() => import('../formats/cache-marks/markers.ts').then((found) => found.cacheChanges)),
    loadConditions: lazy(() => import('../routing/request-traits.ts')),
    loadAdaptedLane: lazy(() => import('../lanes/adapted.ts')),
    loadResponseStore: lazy(() => import('../operations/responses/index.ts')),
    loadAdaptation: (name) => adaptations[name](),
    loadFraming: (name) => framings[name](),
    loadExplanation: () => import('../operations/explain.ts'),
  },
  translates: true,
  loadCapture: lazy(() => import('../calls/capture/capture.ts').then(({ createCapture }) => createCapture)),
  loadCardTable: async () => (await import('../upstreams/model-cards/table.ts')).modelCards.cards,
  findCodec: codecFinder(
    routes,
    (path) => {
      const format = formatOfUnknown(path)
      return format === undefined ? undefined : () => loadWire(format)
    },
    errorEncoderOf,
  ),
  handlerOf,
  loadRealtime: () => import('../operations/realtime/realtime.ts'),
  loadResponsesSockets: () => import('./open-socket.ts'),
}
