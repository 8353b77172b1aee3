export type { AdminOptions } from './admin/routes.ts'
export type { CountOf } from './admission/token-meters.ts'
export type { Awaitable } from './awaitable.ts'
export { createTokens, type Tokens, type TokensOptions } from './create-tokens.ts'
export { type FileLedger, type FileLedgerOptions, fileLedger } from './ledger/file-ledger.ts'
export { memoryLedger } from './ledger/memory-ledger.ts'
export { type ReadLedgerOptions, readLedger } from './ledger/read-ledger.ts'
export type { LedgerRecord, LedgerSink } from './ledger/record.ts'
export { recordOf } from './ledger/record-of.ts'
export { type LedgerKey, type LedgerSum, sumLedger } from './ledger/sum-ledger.ts'
export type { IssuedToken, TokenManagement, TokenUpdate } from './manage.ts'
export {
  leaseMs,
  type Meter,
  type MeterState,
  type MeterStore,
  type Reservation,
  type ReserveResult,
  type Settlement,
  type Sums,
  type SumsQuery,
} from './meters/meter-store.ts'
export type { Price, PriceTable } from './prices/price.ts'
export {
  createPrices,
  type EstimatedUse,
  type PricedCall,
  type Prices,
  pricePlugin,
  readPrices,
} from './prices/prices.ts'
export { hasTokenForm, tokenPattern } from './secret.ts'
export { type FolderStorage, type FolderStorageOptions, folderStorage } from './storage/folder-storage.ts'
export { memoryStorage } from './storage/memory-storage.ts'
export type { RedisClient } from './storage/redis-client.ts'
export { type RedisStorageOptions, redisStorage } from './storage/redis-storage.ts'
export { type Storage, StorageAwayError, type TokenQuery, type TokenStore } from './storage/storage.ts'
export type {
  Budget,
  Limit,
  Period,
  StoredSecret,
  Time,
  Token,
  TokenRecord,
  TokenSettings,
  Window,
} from './token.ts'
export type { CountUsage, TokenUsage } from './usage.ts'
export type { UsageQuery } from './usage-query.ts'
export type { UsageSums } from './usage-sums.ts'
