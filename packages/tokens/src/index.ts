export type { AdminOptions } from './admin-routes.ts'
export type { Awaitable } from './base/async.ts'
export {
  type Home,
  leaseMs,
  type Meter,
  type MeterState,
  type MeterStore,
  type Notice,
  ownerAccount,
  type ReachedAmount,
  type ReachedListener,
  type Reservation,
  type ReserveResult,
  type Settlement,
  type Sums,
  type SumsQuery,
} from './contract/meter-store.ts'
export {
  type OwnerQuery,
  type OwnerStore,
  type Storage,
  StorageAwayError,
  type TokenQuery,
  type TokenStore,
} from './contract/storage.ts'
export type {
  Budget,
  Limit,
  Owner,
  OwnerSettings,
  Period,
  StoredSecret,
  Time,
  Token,
  TokenRecord,
  TokenSettings,
  Window,
} from './contract/token.ts'
export { createTokens, type Tokens, type TokensOptions } from './create-tokens.ts'
export { type FileLedger, type FileLedgerOptions, fileLedger } from './ledger/file-ledger.ts'
export type { LedgerRecord, LedgerSink } from './ledger/ledger-record.ts'
export { memoryLedger, recordOf } from './ledger/ledger-record.ts'
export { type ReadLedgerOptions, readLedger } from './ledger/read-ledger.ts'
export { type LedgerKey, type LedgerSum, sumLedger } from './ledger/sum-ledger.ts'
export type { OwnerManagement } from './limits/owners.ts'
export type { OnThreshold, ReachedThreshold } from './limits/threshold-report.ts'
export type { CountOf } from './limits/token-meters.ts'
export type { CountUsage, OwnerUsage, TokenUsage, Usage, UsageQuery, UsageSums } from './limits/usage.ts'
export type { BasePrice, DatedPrice, LongContextPrice, Price, PriceTable, TierPrice } from './prices/price-table.ts'
export {
  createPrices,
  type EstimatedUse,
  type PricedCall,
  type Prices,
  pricePlugin,
  readPrices,
} from './prices/prices.ts'
export type { UsageReportRow } from './report/report-rows.ts'
export type { ReportSignal, UsageReport, UsageReportQuery, UsageReportToken } from './report/usage-report.ts'
export { type FolderStorage, type FolderStorageOptions, folderStorage } from './storage/folder/folder-storage.ts'
export { type LeasedStorageOptions, leasedStorage } from './storage/leases/leased-storage.ts'
export { memoryStorage } from './storage/memory/memory-storage.ts'
export type { RedisClient } from './storage/redis/client.ts'
export { type RedisStorageOptions, redisStorage } from './storage/redis/redis-storage.ts'
export type { IssuedToken, TokenManagement, TokenUpdate } from './tokens/manage.ts'
export { hasTokenForm, tokenPattern } from './tokens/secret.ts'
