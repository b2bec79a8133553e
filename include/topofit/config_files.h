/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_files - the files that a configuration names, and what only they can confirm.
 *
 * One reader for who starts the daemon and who only checks: what the one refuses the other does.
 */
#ifndef TOPOFIT_CONFIG_FILES_H
#define TOPOFIT_CONFIG_FILES_H

#include "topofit/config.h"
#include "topofit/device_class.h"
#include "topofit/error.h"
#include "topofit/pod_mix.h"

/* The mix borrows from the classes. */
struct config_files {
    struct class_table classes;
    struct pod_mix *mix; /* of packing.workloadFile; one reference, NULL: none is given */
};

/*
 * Read classes.files and packing.workloadFile, and see that the classes of
 * webhook.guardVisibleDevices are there.
 *
 * out     the caller takes what is in it, or clears it.
 * errors  as class_files_read() and pod_mix_file_read(), with the key; out is left alone.
 */
int config_files_read(const struct config *config, struct config_files *out, struct error *err);
void config_files_clear(struct config_files *files);

/* All files: these, certificates and their keys, the kubeconfig. errors: the first, with the key.
 */
int config_files_check(const struct config *config, struct error *err);

#endif
