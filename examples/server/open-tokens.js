import { createTokens, fileLedger, folderStorage, memoryStorage, readPrices } from '@modelgate/tokens'

/**
 * The tokens of this server and what belongs to them, from the environment: MODELGATE_DATA (a folder), MODELGATE_PRICES (a
 * JSON file) and MODELGATE_LEDGER (a folder). Throws an Error whose message is for the user.
 * @param {{ [name: string]: string | undefined }} env
 */
export function openTokens({ MODELGATE_DATA: data, MODELGATE_PRICES: prices, MODELGATE_LEDGER: ledger }) {
  return createTokens({
    storage: data ? folderStorage(data) : memoryStorage(),
    ...(prices ? { prices: readPrices(prices) } : {}),
    ...(ledger ? { ledger: fileLedger({ folder: ledger }) } : {}),
  })
}
