// Kinds of rows with the names of their rows and the function that measures them.
import { cases } from './cases.js'
import { benchCodecs, codecPairs } from './codecs.js'
import { benchCommand, commandName } from './command.js'
import { benchFirstEvent, firstEventName } from './first-event.js'
import { benchGrowth, growthNames } from './growth.js'
import { benchOrigination, originationNames } from './origination.js'
import { benchProxies } from './proxies.js'
import { benchSize, benchStartUp, sizeName, startUpName } from './start-up.js'
import { benchStreams, streamsName } from './streams.js'
import { benchTokens, tokensName } from './tokens.js'
import { benchWorkers, workersNames } from './workers.js'

/** @typedef {import('./row.js').Row} Row @typedef {import('./document.js').Panel} Panel */
/**
 * @typedef {object} Options
 * @property {boolean} profile
 * @property {() => void} between called after each row
 * @property {(panels: Panel[]) => void} onPanels
 */
/** @typedef {{ names: readonly string[], run: (chosen: readonly string[], options: Options) => Promise<Row[]> }} Kind */

/** @type {readonly Kind[]} */
export const kinds = [
  {
    names: cases.map(({ name }) => name),
    run: (chosen, options) =>
      benchProxies(
        cases.filter(({ name }) => chosen.includes(name)),
        options,
      ),
  },
  { names: [firstEventName], run: (_, options) => benchFirstEvent(options) },
  { names: [streamsName], run: (_, options) => benchStreams(options) },
  {
    names: codecPairs.map(({ name }) => name),
    run: (chosen) => benchCodecs(codecPairs.filter(({ name }) => chosen.includes(name))),
  },
  { names: [tokensName], run: () => benchTokens() },
  { names: originationNames, run: (chosen) => benchOrigination(chosen) },
  {
    names: growthNames,
    run: async (chosen, options) => {
      const { rows, panels } = await benchGrowth(chosen, options)
      options.onPanels(panels)
      return rows
    },
  },
  { names: workersNames, run: (chosen) => benchWorkers(chosen) },
  { names: [startUpName], run: () => benchStartUp() },
  { names: [commandName], run: () => benchCommand() },
  { names: [sizeName], run: () => benchSize() },
]
