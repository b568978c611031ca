BEGIN TRANSACTION;
CREATE TABLE procession_cache (key TEXT PRIMARY KEY, expires_at REAL NOT NULL, value TEXT NOT NULL);
INSERT INTO "procession_cache" VALUES('key',2764500000.0,'value');
CREATE TABLE procession_cost_hours (
        account TEXT NOT NULL, hour INTEGER NOT NULL, amount INTEGER NOT NULL CHECK (typeof(amount) = 'integer'),
        estimated INTEGER NOT NULL, PRIMARY KEY (account, hour)
    ) WITHOUT ROWID;
INSERT INTO "procession_cost_hours" VALUES('ada',490138,250,0);
CREATE TABLE procession_cost_reservations (
        account TEXT NOT NULL, id TEXT NOT NULL, amount INTEGER NOT NULL, until REAL NOT NULL, PRIMARY KEY (account, id)
    ) WITHOUT ROWID;
CREATE TABLE procession_costs (
        account TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL, amount INTEGER NOT NULL, estimated INTEGER NOT NULL,
        model TEXT NOT NULL, PRIMARY KEY (account, id)
    ) WITHOUT ROWID;
INSERT INTO "procession_costs" VALUES('ada','call-1',1764500000.0,250,0,'openai/gpt-5-mini');
CREATE TABLE procession_entries (
        run_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL, attempt INTEGER NOT NULL,
        data TEXT, PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
INSERT INTO "procession_entries" VALUES('flow-1',0,'step','double',1,'2');
INSERT INTO "procession_entries" VALUES('flow-1',1,'step','triple',1,'6');
CREATE TABLE procession_graphs (graph_hash TEXT PRIMARY KEY, spec TEXT NOT NULL);
INSERT INTO "procession_graphs" VALUES('sha256:x','{"steps":[]}');
CREATE TABLE procession_runs (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('pending', 'running', 'suspended', 'success', 'failed', 'blocked', 'cancelled')),
    graph_hash TEXT NOT NULL, parent_run_id TEXT, forked_at TEXT, resource_id TEXT,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, claim TEXT, claimed_until REAL NOT NULL,
    cancel_requested INTEGER NOT NULL, data TEXT
);
INSERT INTO "procession_runs" VALUES(1,'flow-1','flow','workflow','success','sha256:x',NULL,NULL,'ada',1764500000.0,1764500000.0,NULL,1764500030.0,0,'{"output":6}');
INSERT INTO "procession_runs" VALUES(2,'agent-1','till','agent','suspended','',NULL,NULL,NULL,1764500000.0,1764500000.0,NULL,0.0,0,'{"$type":"MessageList"}');
CREATE TABLE procession_schema (version INTEGER NOT NULL);
INSERT INTO "procession_schema" VALUES(2);
CREATE INDEX procession_runs_by_time ON procession_runs (created_at);
CREATE INDEX procession_runs_by_status ON procession_runs (status, created_at);
CREATE INDEX procession_runs_by_resource ON procession_runs (resource_id, created_at) WHERE resource_id IS NOT NULL;
CREATE INDEX procession_runs_by_parent ON procession_runs (parent_run_id, created_at) WHERE parent_run_id IS NOT NULL;
CREATE INDEX procession_cache_by_time ON procession_cache (expires_at);
CREATE INDEX procession_costs_by_account ON procession_costs (account, at, amount, estimated);
CREATE INDEX procession_costs_by_time ON procession_costs (at);
COMMIT;
